import * as Http from "node:http"
import * as Https from "node:https"
import type { Socket } from "node:net"
import { type CarrierHttpOptions, CarrierTransport } from "@quotewire/core"
import { CarrierHttp, CarrierTokens } from "@quotewire/core/testing"
import { Effect, type Scope } from "effect"
import * as CarrierTransports from "../../src/carriers/CarrierTransports.ts"

/** A carrier on this machine. */
export interface Server {
  readonly origin: string
  /** Method, path and query of every request. */
  readonly requests: ReadonlyArray<string>
  /** How many connections it has had in total, and has now. */
  readonly connections: () => { readonly all: number; readonly open: number }
}

/** Starts a carrier, with TLS if there is a certificate. */
export const serve = (
  handle: Http.RequestListener,
  tls: Https.ServerOptions | null = null
): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly server: Server; readonly close: () => void }>((resume) => {
        const requests: Array<string> = []
        const open = new Set<Socket>()
        let all = 0
        const listener: Http.RequestListener = (request, response) => {
          requests.push(`${request.method} ${request.url}`)
          handle(request, response)
        }
        const server = tls === null ? Http.createServer(listener) : Https.createServer(tls, listener)
        server.on("connection", (socket) => {
          all++
          open.add(socket)
          socket.on("close", () => open.delete(socket)).on("error", () => socket.destroy())
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          if (address === null || typeof address === "string") return resume(Effect.die("bound to no port"))
          const origin = `${tls === null ? "http" : "https"}://localhost:${address.port}`
          const close = () => {
            server.close()
            for (const socket of open) socket.destroy()
          }
          resume(Effect.succeed({ server: { origin, requests, connections: () => ({ all, open: open.size }) }, close }))
        })
      }),
      ({ close }) => Effect.sync(close)
    ),
    ({ server }) => server
  )

/** Responds with JSON. */
export const json = (
  response: Http.ServerResponse,
  value: unknown,
  status = 200,
  headers: Http.OutgoingHttpHeaders = {}
) => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(value))
}

/** A client of a carrier, through a transport with these settings, or through `fetch`. It ends with the scope. */
export const client = (
  base_url: string,
  settings: CarrierTransports.Settings | "fetch" = {},
  options: Partial<CarrierHttpOptions> = {},
  context: Partial<CarrierHttp.CarrierHttpContext> = {}
) =>
  Effect.gen(function* () {
    const transport = settings === "fetch" ? yield* CarrierTransport : yield* CarrierTransports.make(settings)
    const tokens = yield* CarrierTokens.make
    return yield* CarrierHttp.make(
      { base_url, ...options },
      {
        environment: "live",
        connection: { client_id: "broker-7", client_secret: "s3cret" },
        timeout_ms: 10_000,
        idempotent: false,
        ...context
      }
    ).pipe(
      Effect.provideService(CarrierTransport, transport),
      Effect.provideService(CarrierTokens.CarrierTokens, tokens),
      // The test runs the client's Effects, so it provides their services here.
      Effect.map(({ effect }) => ({
        get: (path: string, request: Parameters<typeof effect.get>[1] = {}) =>
          effect
            .get(path, request)
            .pipe(
              Effect.provideService(CarrierTransport, transport),
              Effect.provideService(CarrierTokens.CarrierTokens, tokens)
            )
      }))
    )
  })

/** The outcome of a call: its status, or the reason and the code of its error. */
export const outcome = <
  A extends { readonly status: number },
  E extends { readonly reason: string; readonly code: string }
>(
  call: Effect.Effect<A, E>
) =>
  Effect.match(call, {
    onSuccess: ({ status }) => [status],
    onFailure: ({ reason, code }) => [reason, code]
  })
