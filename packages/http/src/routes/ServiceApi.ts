import { Argument, operations, Quotewire, type Storage } from "@quotewire/core"
import type * as ConsoleRoutes from "../console/ConsoleRoutes.ts"
import * as MessageRoute from "../messages/MessageRoute.ts"
import * as OAuthGate from "../oauth/OAuthGate.ts"
import type { OAuthSettings } from "../oauth/OAuthOptions.ts"
import * as ProtectedResource from "../oauth/ProtectedResource.ts"
import type * as Api from "./Api.ts"
import * as CarrierCallbacks from "./CarrierCallbacks.ts"
import * as Handoff from "./Handoff.ts"
import * as OperatorRoutes from "./OperatorRoutes.ts"

/** All Effect services of the quoting service, as `Quotewire.layer` and a storage layer provide them. */
export type Services = Quotewire.Services | Storage.Storage

/** Which parts of the service a host serves. */
export interface Options {
  /** Whether the host serves the operations over REST; true by default. */
  readonly rest?: boolean
  /** Creates the agent endpoint; pass `mcp` from `@quotewire/mcp`. Without it, agents are not served. */
  readonly mcp?: () => MessageRoute.MessageEndpoint<Services>
  /** The origins whose web pages may call the agent endpoint; none by default. */
  readonly mcp_origins?: MessageRoute.Origins
  /** The issuer whose tokens the agent endpoint and the operators' API accept in addition to keys; none by default. */
  readonly oauth?: OAuthSettings | null
  /** Whether the host serves the operators' API, below `/operator/v1`; false by default. */
  readonly operators?: boolean
  /** The console; none by default. */
  readonly console?: ConsoleRoutes.Settings
}

const noOrigins: MessageRoute.Origins = { allowed: [], loopback: false }

const checked = Argument.checker("ServiceApi.of")

/**
 * The settings of the API of the whole service. Every host uses them, standalone or inside another program, so this is
 * the only list of what is served.
 */
export const of = (options: Options = {}): Omit<Api.Settings<Services>, "base_url"> => {
  const {
    mcp,
    mcp_origins = noOrigins,
    oauth = null,
    operators: hasOperators = false,
    rest: hasRest = true
  } = checked(options)
  const endpoint = mcp?.()
  const { console: pages } = options
  return {
    operations: hasRest ? operations : [],
    routes: [
      Handoff.route(Quotewire.go),
      CarrierCallbacks.route(Quotewire.carrierCallback),
      ...(endpoint === undefined || oauth !== null ? [] : MessageRoute.make(endpoint, mcp_origins))
    ],
    routesAt: (baseUrl) => [
      ...(endpoint === undefined || oauth === null ? [] : routesWithOAuth(endpoint, mcp_origins, oauth, baseUrl)),
      ...(hasOperators ? OperatorRoutes.routes(baseUrl, oauth) : [])
    ],
    ready: Quotewire.ready,
    environments: Quotewire.environments,
    cells: Quotewire.cells,
    home: { rest: hasRest, mcp_path: endpoint?.paths[0] ?? null, console: consoleAt(pages) },
    ...(pages !== undefined && { console: pages })
  }
}

const consoleAt = (pages: ConsoleRoutes.Settings | undefined) => {
  if (pages === undefined) return "none"
  return pages.at_root === true ? "first" : "linked"
}

/** The routes of an agent endpoint that accepts tokens: the endpoint itself and its metadata. */
const routesWithOAuth = (
  endpoint: MessageRoute.MessageEndpoint<Services>,
  origins: MessageRoute.Origins,
  oauth: OAuthSettings,
  baseUrl: string
) => {
  const [path] = endpoint.paths
  return [
    ...MessageRoute.make(endpoint, origins, OAuthGate.make(oauth, baseUrl, path)),
    ...ProtectedResource.routes(ProtectedResource.metadataOf(oauth, baseUrl, path), baseUrl, path)
  ]
}
