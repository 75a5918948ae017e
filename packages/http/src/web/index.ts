/** The whole service on the Web's `Request` and `Response`, for any runtime. It imports nothing from Node. */

export { type ProtectedResource, protectedResource } from "../oauth/ProtectedResource.ts"
export type { Handle } from "./FetchHandler.ts"
export { type WebHandlerOptions, type WebHandlers, webHandler, webHandlers } from "./webHandler.ts"
