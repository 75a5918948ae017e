import type { Ids, Operation, Pipeline, Revision } from "@quotewire/core"
import { Effect } from "effect"
import * as ErrorPages from "../documents/ErrorPages.ts"
import * as OpenApi from "../documents/OpenApi.ts"
import * as Reference from "../documents/Reference.ts"
import * as Health from "./Health.ts"
import * as OperationRoute from "./OperationRoute.ts"
import type * as Route from "./Route.ts"

/** What the API consists of. */
export interface Settings<R> {
  /** The operations of the core. */
  readonly operations: ReadonlyArray<Operation.Operation<string, unknown, unknown, R>>
  /** Routes beside the operations: `Go.route`, `CarrierCallbacks.route`, the agent endpoint. */
  readonly routes?: ReadonlyArray<Route.Route<R>>
  /** Whether storage can be reached and its migrations are current; always so where it is left out. */
  readonly ready?: Effect.Effect<boolean | string, never, R>
  /** The environments in which carriers can be asked, such as `Quotewire.environments`; not told where it is left out. */
  readonly environments?: Effect.Effect<ReadonlyArray<string>, never, R>
  /** The address that callers use: http or https, without query, user and password. It may have a path. */
  readonly base_url: string
  /** Where the documentation stands; `{base_url}/docs` where it is left out. */
  readonly docs_url?: string
  /** The revisions that are served, for the document. */
  readonly served?: Revision.Served
  /** What the second set of webhook headers begins with, for the document; `quotewire-` where it is left out. */
  readonly webhook_header_prefix?: string
}

/** The services that the API needs: those of the operations and of the pipeline that calls them. */
export type Services<R> = R | Pipeline.PipelineServices | Ids.Ids

/** Every route of the host: operations, health, documentation, and those that were added. */
export const routes = <R>(settings: Settings<R>): ReadonlyArray<Route.Route<R | Pipeline.PipelineServices>> => {
  // It costs a few milliseconds, which a host that nobody asks for it need not spend.
  let made: OpenApi.Document | undefined
  const document = () => {
    made ??= OpenApi.document(settings.operations, settings.base_url, settings)
    return made
  }
  const base_path = pathOf(settings.base_url)
  return [
    ...settings.operations.map((operation) => OperationRoute.make(operation, base_path)),
    ...(settings.routes ?? []),
    ...Health.routes(settings.ready ?? Effect.succeed(true), settings.environments ?? null),
    ...ErrorPages.routes,
    ...Reference.routes(document),
    OpenApi.route(document)
  ]
}

/** Where an address stands below its host: `/insurance`, or nothing. */
const pathOf = (base_url: string): string => base_url.replace(/^https?:\/\/[^/]*/i, "").replace(/\/$/, "")
