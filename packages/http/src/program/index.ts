/** Reads a host's settings before the host starts. Imports nothing from the service. */

export * as ClientAddress from "../host/TrustedProxies.ts"
