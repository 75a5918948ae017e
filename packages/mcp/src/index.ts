/**
 * The quoting service for agents: the Model Context Protocol over HTTP and standard input and output.
 *
 * `Tools.of(operations)` creates the tools, `Endpoint.make` responds to the messages that an HTTP host receives, and
 * `StdioServer.serve` serves a local program.
 */

export * as Tools from "./catalogue/Tools.ts"
export { asking, type McpOptions, mailboxes, mcp } from "./mcp.ts"
export * as JsonRpc from "./protocol/JsonRpc.ts"
export * as Protocol from "./protocol/Protocol.ts"
export type { View } from "./protocol/View.ts"
export * as Endpoint from "./serving/AgentEndpoint.ts"
export * as Bridge from "./serving/Bridge.ts"
export * as Local from "./serving/Local.ts"
export * as Server from "./serving/Server.ts"
export * as StdioServer from "./serving/StdioServer.ts"
export * as RenamedArgument from "./tools/RenamedArgument.ts"
export * as Tool from "./tools/Tool.ts"
