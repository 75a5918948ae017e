/** What a program needs to read the settings of a host before it starts one. It loads nothing of the service. */

export * as ClientAddress from "../host/TrustedProxies.ts"
