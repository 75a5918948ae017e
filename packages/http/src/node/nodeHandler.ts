import type { IncomingMessage } from "node:http"
import { Argument } from "@quotewire/core"
import { Effect, Result } from "effect"
import * as Paths from "../host/Paths.ts"
import * as Api from "../routes/Api.ts"
import * as HandlerOptions from "../routes/HandlerOptions.ts"
import * as Mounted from "../routes/Mounted.ts"
import type * as Backpressure from "./Backpressure.ts"
import * as Handler from "./Handler.ts"
import * as NodeMessages from "./NodeMessages.ts"
import * as ScalarScript from "./ScalarScript.ts"

/** Options of `nodeHandler`. */
export interface NodeHandlerOptions extends HandlerOptions.HandlerOptions, Backpressure.Limits {
  /**
   * Returns a caller's address if the connection has no address, as on a Unix socket. By default, all such callers
   * share one address.
   */
  readonly address?: (request: IncomingMessage) => string | undefined
}

/**
 * The whole API of an embedded service as a request listener for `node:http`, Express, Fastify and Nest: REST,
 * documentation, carriers' callbacks, quote links, health checks, and the agent endpoint if `mcp` is given.
 *
 * Requests wait until the service has started. If `next` is given, the listener calls it for requests outside its mount
 * path; if it is mounted at the root of a site, for requests to unknown paths. When the service is closed, running
 * requests finish, and later ones get `service_unavailable`. Wrong options throw one `InvalidArgument` that names them
 * all.
 *
 * @example
 * const quotewire = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example/insurance" })
 * app.use("/insurance", nodeHandler(quotewire, { mcp }))
 */
export const nodeHandler = (
  quotewire: Mounted.Service,
  options: NodeHandlerOptions = {}
): Handler.Handler["handle"] => {
  const { checked, limits } = Result.getOrThrowWith(
    Argument.every({
      service: Mounted.checkService(quotewire),
      checked: HandlerOptions.check(options),
      limits: backpressureOf(Object(options))
    }),
    (mistakes) => Argument.mistaken("nodeHandler", mistakes)
  )
  const refused = Mounted.refusals(checked)
  const refuse: Handle = (request, response) => NodeMessages.send({ request, response }, refused(), {}, () => {})
  const isForeign = foreignTo(checked)
  let handle: Handle | null = null
  let waiting = 0
  const started = Mounted.mount(() => quotewire, checked, make(checked, limits, options)).then((mounted) => {
    handle = mounted ?? refuse
    return handle
  })
  return (request, response, next) => {
    if (handle !== null && handle !== refuse) return handle(request, response, next)
    if (next !== undefined && isForeign(request)) return next()
    if (handle !== null || waiting === Mounted.maxWaiting) return refuse(request, response)
    waiting++
    started.then((mounted) => {
      waiting--
      mounted(request, response, next)
    })
  }
}

type Handle = Handler.Handler["handle"]

const backpressureOf = ({ max_unread_bytes, read_timeout_ms }: Backpressure.Limits) =>
  Argument.every({
    ...(max_unread_bytes !== undefined && {
      max_unread_bytes: HandlerOptions.atLeast(1, "max_unread_bytes", max_unread_bytes)
    }),
    ...(read_timeout_ms !== undefined && {
      read_timeout_ms: HandlerOptions.atLeast(1, "read_timeout_ms", read_timeout_ms)
    })
  })

const make = Effect.fnUntraced(function* (
  checkedOptions: HandlerOptions.CheckedOptions,
  limits: Backpressure.Limits,
  { address }: NodeHandlerOptions
) {
  const { base_url, docs_url, public_path } = yield* HandlerOptions.placeOf(checkedOptions)
  const settings = yield* Api.complete({ ...checkedOptions.service, base_url })
  return yield* Handler.make(Api.routes({ ...settings, reference_script: ScalarScript.find() }), {
    ...checkedOptions.answering,
    docs_url,
    base_path: checkedOptions.base_path,
    ...(public_path !== undefined && { public_path }),
    ...(checkedOptions.proxies !== null && { proxies: checkedOptions.proxies }),
    ...limits,
    ...(address !== undefined && { address })
  })
})

/**
 * Creates a function that says whether a request belongs to the rest of the program, as far as this is known before the
 * service has started.
 */
const foreignTo = ({ base_path, service }: HandlerOptions.CheckedOptions) => {
  const locate = Paths.locate(base_path)
  let built: Paths.Paths<true> | undefined
  const paths = () => {
    built ??= Paths.make(
      Api.routes({ ...service, base_url: "", reference_script: ScalarScript.find() }).map(({ method, path }) => ({
        method,
        path,
        value: true
      }))
    )
    return built
  }
  return (request: IncomingMessage): boolean => {
    const target = locate(request.url ?? "/", Handler.strippedOf(request))
    if (target === null || Handler.isRoot(target)) return true
    if (target.mount_path !== "") return false
    // A preflight request (`OPTIONS`) has no route of its own, so only its path is checked.
    return ["GET", "POST", "PATCH", "DELETE"].every((method) => paths().find(method, target.path) === null)
  }
}
