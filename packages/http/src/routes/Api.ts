import { type Ids, Lines, Operation, type Pipeline, Revision, WebhookHeaders } from "@quotewire/core"
import { Effect } from "effect"
import * as ConsoleRoutes from "../console/ConsoleRoutes.ts"
import * as ErrorPages from "../documents/ErrorPages.ts"
import * as Home from "../documents/Home.ts"
import * as OpenApi from "../documents/OpenApi.ts"
import * as Reference from "../documents/Reference.ts"
import type * as Scalar from "../documents/Scalar.ts"
import type * as Route from "../host/Route.ts"
import * as Health from "./Health.ts"
import * as OperationRoute from "./OperationRoute.ts"

/** Settings of the API. */
export interface Settings<R> {
  /** The core's operations. */
  readonly operations: ReadonlyArray<Operation.Operation<string, unknown, unknown, R>>
  /** Additional routes, such as `Handoff.route`, `CarrierCallbacks.route` and the agent endpoint. */
  readonly routes?: ReadonlyArray<Route.Route<R>>
  /** Additional routes that depend on `base_url`. */
  readonly routesAt?: (base_url: string) => ReadonlyArray<Route.Route<R | Pipeline.PipelineServices>>
  /**
   * Whether storage is reachable and its migrations are current; always true by default. If the result is a string, the
   * check fails with this message.
   */
  readonly ready?: Effect.Effect<boolean | string, never, R>
  /**
   * The environments that have carriers, as `Quotewire.environments` returns them. By default, `/health/ready` does not
   * list them.
   */
  readonly environments?: Effect.Effect<ReadonlyArray<string>, never, R>
  /** The cells of the storage, as `Quotewire.cells` returns them. By default, `/health/ready` does not list them. */
  readonly cells?: Effect.Effect<ReadonlyArray<Health.CellReadiness>, never, R>
  /** The address that callers use: http or https, without a query, user or password. It may include a path. */
  readonly base_url: string
  /** The address of the documentation; `{base_url}/docs` by default. */
  readonly docs_url?: string
  /** The API revisions that the host serves, for the OpenAPI document. */
  readonly served?: Revision.Served
  /** The host's insurance lines, for the OpenAPI document; the standard lines by default. */
  readonly lines?: Lines.LineSet
  /** The prefix of the provider's own webhook headers, for the OpenAPI document; `quotewire-` by default. */
  readonly webhook_header_prefix?: string
  /** The script that renders the API reference in the browser; by default the reference is a static page. */
  readonly reference_script?: Scalar.Scalar | null
  /** What the page at `/` describes; by default there is no such page. */
  readonly home?: Home.Settings
  /** The console; by default it is not served. */
  readonly console?: ConsoleRoutes.Settings
}

/** The services that the API needs: the services of its operations and of the call pipeline. */
export type Services<R> = R | Pipeline.PipelineServices | Ids.Ids

/** Fills in missing settings from the core. Removes operations that the core does not offer. */
export const complete = Effect.fnUntraced(function* <S extends Settings<R>, R>(
  settings: S & Settings<R>
): Effect.fn.Return<S, never, R> {
  const operations = yield* Effect.filter(settings.operations, Operation.isAvailable)
  const webhook_header_prefix = yield* WebhookHeaders.WebhookHeaderPrefix
  const served = yield* Revision.ServedRevisions
  const lines = yield* Lines.Lines
  return { lines, served, webhook_header_prefix, ...settings, operations }
})

/** All routes of the host: operations, health, documentation and additional routes. */
export const routes = <R>(settings: Settings<R>): ReadonlyArray<Route.Route<R | Pipeline.PipelineServices>> => {
  // The document is created on the first request for it, because creating it takes a few milliseconds.
  let openApi: OpenApi.Document | undefined
  const document = () => {
    openApi ??= OpenApi.document(settings.operations, settings.base_url, settings)
    return openApi
  }
  const { console: pages, home } = settings
  const all = [
    ...settings.operations.map((operation) => OperationRoute.make(operation)),
    ...(settings.routes ?? []),
    ...(settings.routesAt?.(settings.base_url) ?? []),
    ...Health.routes(settings.ready ?? Effect.succeed(true), settings.environments ?? null, settings.cells),
    ...ErrorPages.routes({
      operations: settings.operations,
      served: settings.served ?? Revision.served,
      docs_url: settings.docs_url ?? `${settings.base_url}/docs`
    }),
    ...Reference.routes(document, settings.reference_script ?? null),
    OpenApi.route(document),
    ...(home === undefined ? [] : [Home.route(settings.base_url, settings.lines ?? Lines.standard, home)])
  ]
  if (pages === undefined) return all
  return [...all, ...ConsoleRoutes.routes(pages, { has_operators: all.some(isForOperators) })]
}

const isForOperators = ({ path }: Pick<Route.Route, "path">): boolean => path.startsWith("/operator/")
