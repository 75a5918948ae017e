import { operations, Quotewire, type Storage } from "@quotewire/core"
import { MessageRoute, type Route } from "@quotewire/http"
import { Endpoint, type Tool, Tools } from "@quotewire/mcp"

/** The services of a host. */
export type Services = Quotewire.Services | Storage.Storage

/** `/v1/mcp` with the tools of the service, and those beside them. */
export const agentRoutes = (tools: ReadonlyArray<Tool.Tool> = []): ReadonlyArray<Route.Route<Services>> => {
  const endpoint = Endpoint.make<Services>({
    tools: [...Tools.of<Services>(operations), ...tools],
    version: "0.0.0",
    sign: (text) => Quotewire.sign("mcp_session", text),
    isSigned: (text, signature) => Quotewire.isSigned("mcp_session", text, signature)
  })
  return MessageRoute.make(endpoint, { allowed: [], loopback: true })
}
