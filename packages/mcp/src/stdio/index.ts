/**
 * Connects a program that speaks over standard input and output to a running host.
 *
 * It loads nothing of the service, because such programs can start a process for each call.
 */

export * as Bridge from "../Bridge.ts"
export * as StdioServer from "../StdioServer.ts"
