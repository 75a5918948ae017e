import { Effect } from "effect"
import type { Transport } from "../../src/calls/FinishedCall.ts"
import * as RequestLogOperations from "../../src/calls/RequestLogOperations.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"

/** Lists the request log. */
export const requests = (filters: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(RequestLogOperations.listApiRequests, filters, options))

/** Reads one entry of the request log. */
export const request = (id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(RequestLogOperations.getApiRequest, { id }, options))

/** A call as the agent endpoint passes it on. */
export const agentTransport: Transport = {
  method: "POST",
  route: "/v1/mcp",
  status: 200,
  user_agent: "agent/1",
  client_name: "An agent",
  client_version: "1.2.3"
}
