/** A transport on undici, for clients on Node. The only part of the client that does not run in browsers. */

export { type UndiciTransportOptions, undiciTransport } from "./undiciTransport.ts"
