/** What a program needs to read the settings of a host before it starts one. Loads nothing from the service. */

export * as ClientAddress from "../host/TrustedProxies.ts"
