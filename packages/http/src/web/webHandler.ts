import { Argument } from "@quotewire/core"
import { Effect, Result } from "effect"
import * as Api from "../routes/Api.ts"
import * as HandlerOptions from "../routes/HandlerOptions.ts"
import * as Mounted from "../routes/Mounted.ts"
import * as FetchHandler from "./FetchHandler.ts"

/** Options of `webHandler`. */
export interface WebHandlerOptions extends HandlerOptions.HandlerOptions {
  /**
   * Returns a caller's address, which a Web request does not contain. Get it from your server, for example with
   * `(request) => server.requestIP(request)?.address` on Bun. Without this option and without `proxies`, all callers
   * share one address.
   */
  readonly address?: (request: Request) => string | undefined
}

const checkService = (value: unknown) =>
  typeof value === "function" || Result.isSuccess(Mounted.checkService(value))
    ? Result.succeed(null)
    : Result.fail([
        { path: "service", message: "Must be the service that embed returns, or a function that returns it." }
      ])

/**
 * The whole API of an embedded service as a function from `Request` to `Response`, for Hono, Bun, Deno and workers:
 * REST, documentation, carriers' callbacks, quote links, health checks, and the agent endpoint if `mcp` is given.
 *
 * Requests wait until the service has started. If a caller disconnects, its request is interrupted. When the service is
 * closed, running requests finish, and later ones get `service_unavailable`. The promise never rejects. Wrong options
 * throw one `InvalidArgument` that names them all.
 *
 * Instead of the service, you can pass a function that returns it. The handler calls that function on the first
 * request. Use this if your build imports this module, as Next's does: importing it must not start the service.
 *
 * @example
 * const quotewire = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example/insurance" })
 * Bun.serve({ fetch: webHandler(quotewire, { base_path: "/insurance", mcp }) })
 */
export const webHandler = (
  quotewire: Mounted.Service | (() => Mounted.Service),
  options: WebHandlerOptions = {}
): FetchHandler.Handle => {
  const { checked } = Result.getOrThrowWith(
    Argument.every({
      service: checkService(quotewire),
      checked: HandlerOptions.check(options)
    }),
    (mistakes) => Argument.mistaken("webHandler", mistakes)
  )
  const refused = Mounted.refusals(checked)
  const refuse: FetchHandler.Handle = (request) => Promise.resolve(FetchHandler.toResponse(refused(), request.method))
  let handle: FetchHandler.Handle | null = null
  let waiting = 0
  const start = async () => {
    const service = typeof quotewire === "function" ? quotewire : () => quotewire
    handle = (await Mounted.mount(service, checked, make(checked, options))) ?? refuse
    return handle
  }
  let started = typeof quotewire === "function" ? null : start()
  return (request) => {
    if (handle !== null) return handle(request)
    if (waiting === Mounted.maxWaiting) return refuse(request)
    waiting++
    started ??= start()
    return started.then((mounted) => {
      waiting--
      return mounted(request)
    })
  }
}

const make = Effect.fnUntraced(function* (
  checkedOptions: HandlerOptions.CheckedOptions,
  { address }: WebHandlerOptions
) {
  const { base_url, docs_url, public_path } = yield* HandlerOptions.placeOf(checkedOptions)
  const settings = yield* Api.complete({ ...checkedOptions.service, base_url })
  return yield* FetchHandler.make(Api.routes(settings), {
    ...checkedOptions.answering,
    docs_url,
    base_path: checkedOptions.base_path,
    proxies: checkedOptions.proxies,
    ...(public_path !== undefined && { public_path }),
    ...(address !== undefined && { address })
  })
})

/** One function for each HTTP method, as a Next route file exports them. */
export type WebHandlers = Readonly<
  Record<"GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS", FetchHandler.Handle>
>

/**
 * Like `webHandler`, but returns one function for each HTTP method. In Next, export them from
 * `app/insurance/[[...path]]/route.ts`.
 *
 * @example
 * export const { GET, POST, PATCH, DELETE, OPTIONS } = webHandlers(quotewire, { base_path: "/insurance" })
 */
export const webHandlers = (
  quotewire: Mounted.Service | (() => Mounted.Service),
  options: WebHandlerOptions = {}
): WebHandlers => {
  const handle = webHandler(quotewire, options)
  return { GET: handle, HEAD: handle, POST: handle, PUT: handle, PATCH: handle, DELETE: handle, OPTIONS: handle }
}
