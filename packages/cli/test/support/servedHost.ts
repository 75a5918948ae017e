import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http"
import {
  ApiKey,
  type Caller,
  type EmbedOptions,
  embed,
  type Line,
  operations,
  type Quotewire,
  type Storage,
  WebhookAddress
} from "@quotewire/core"
import { Http, NodeWebhookSender } from "@quotewire/http"
import { connect } from "@quotewire/http/client"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Queue } from "effect"

/** A well-formed key that no host knows. */
export const unknownKey = (environment: Caller.Environment) =>
  ApiKey.write(environment, "server", new Uint8Array(ApiKey.randomBytes).fill(7))

/** A server on a local port, which is closed at the end of the test. */
export const server = (listener: RequestListener, port = 0) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const listening = createServer(listener)
      await new Promise<void>((resolve) => void listening.listen(port, "127.0.0.1", resolve))
      const bound = listening.address()
      const address = `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
      const close = () => new Promise<void>((closed) => void listening.close(() => closed()).closeAllConnections())
      return { address, close }
    }),
    ({ close }) => Effect.promise(close)
  )

const policy = { ...WebhookAddress.publicOnly, allow: WebhookAddress.readNetworks("127.0.0.1/32") ?? [] }

/** An in-memory host with these options, and a key of each kind. Its webhooks can reach this machine. */
export const hostWith = Effect.fnUntraced(function* (options: Pick<EmbedOptions<Line.Line>, "lines" | "carriers">) {
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() =>
      embed<Line.Line>({ storage: MemoryStorage.layer, webhooks: NodeWebhookSender.layer({ policy }), ...options })
    ),
    ({ close }) => Effect.promise(close)
  )
  const { handle } = yield* Effect.promise(() =>
    quotewire.run(
      Http.handler<Quotewire.Services | Storage.Storage>({ operations, base_url: "https://quotes.example.com" })
    )
  )
  const { address } = yield* server(handle)
  const keys = yield* Effect.promise(async () => {
    const { id: organization_id } = await quotewire.createOrganization("Acme")
    const keyOf = async (kind: "server" | "widget") =>
      (await quotewire.createKey({ organization_id, environment: "sandbox", kind })).key
    return { server: await keyOf("server"), widget: await keyOf("widget") }
  })
  const client = connect({ base_url: address, key: keys.server })
  const env = { QUOTEWIRE_BASE_URL: address, QUOTEWIRE_API_KEY: keys.server }
  let started = 0
  /** Starts a request that waits in its queue: one event. */
  const startOne = Effect.promise(() =>
    client.start_quote_request({
      line: "renters",
      scenario: "waits_in_queue",
      consent_receipt_id: "receipt-0001",
      request_key: `request-${started++}`,
      application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
    })
  )
  return { address, client, env, keys, startOne }
})

/** A host without custom options. */
export const host = hostWith({})

/** A webhook, as a receiver gets it. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A receiver that responds with this status, and the webhooks that it got. */
export const receiver = Effect.fnUntraced(function* (status: number, port?: number) {
  const received = yield* Queue.unbounded<Received>()
  const { address, close } = yield* server(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += chunk
    Queue.offerUnsafe(received, { headers: request.headers, body })
    response.writeHead(status, { location: "/elsewhere" }).end()
  }, port)
  return { url: `${address}/webhooks`, received, close }
})
