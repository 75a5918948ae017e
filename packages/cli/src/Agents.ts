import { operations, Quotewire, type Storage } from "@quotewire/core"
import { MessageRoute, type Route } from "@quotewire/http"
import { Endpoint, Tools } from "@quotewire/mcp"
import type { HostSettings } from "./HostSettings.ts"
import { version } from "./version.ts"

/** The services of a host. */
export type Services = Quotewire.Services | Storage.Storage

const purpose = "mcp_session"

/** `/v1/mcp` on the HTTP host. If only this machine can reach the host, pages of this machine may call it. */
export const routes = ({
  host,
  mcp_origins
}: Pick<HostSettings, "host" | "mcp_origins">): ReadonlyArray<Route.Route<Services>> => {
  const endpoint = Endpoint.make<Services>({
    tools: Tools.of<Services>(operations),
    version,
    sign: (text) => Quotewire.sign(purpose, text),
    isSigned: (text, signature) => Quotewire.isSigned(purpose, text, signature)
  })
  return MessageRoute.make(endpoint, { allowed: mcp_origins, loopback: isLoopback(host) })
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.")
