/** Reads the settings of a host before it starts. Loads nothing from the service. */

export * as ClientAddress from "../host/TrustedProxies.ts"
