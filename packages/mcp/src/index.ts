/**
 * The quoting service for agents: the Model Context Protocol over HTTP and over standard input and output.
 *
 * `Tools.of(operations)` makes the tools. `Endpoint.make` answers the messages that an HTTP host receives; `StdioServer.serve` serves a
 * local program.
 */

export * as Bridge from "./Bridge.ts"
export * as Endpoint from "./Endpoint.ts"
export * as JsonRpc from "./JsonRpc.ts"
export * as Local from "./Local.ts"
export { asking, type McpOptions, mailboxes, mcp } from "./mcp.ts"
export * as Protocol from "./Protocol.ts"
export * as RenamedArgument from "./RenamedArgument.ts"
export * as Server from "./Server.ts"
export * as StdioServer from "./StdioServer.ts"
export * as Tool from "./Tool.ts"
export * as Tools from "./Tools.ts"
export type { View } from "./views/View.ts"
