/** Reads a host's settings before it starts. Imports nothing from the service. */

export * as ClientAddress from "../host/TrustedProxies.ts"
