/**
 * Connects a client program that uses standard input and output to a running host.
 *
 * It imports nothing from the service, because some clients start a process for each call, and it must start fast.
 */

export * as Bridge from "../serving/Bridge.ts"
export * as StdioServer from "../serving/StdioServer.ts"
