/**
 * Connects a program that uses standard input and output to a running host.
 *
 * Loads nothing from the service, because such programs may start a process for each call.
 */

export * as Bridge from "../serving/Bridge.ts"
export * as StdioServer from "../serving/StdioServer.ts"
