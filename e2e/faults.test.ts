import { randomUUID } from "node:crypto"
import * as Http from "node:http"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { ExampleApplications } from "@quotewire/core/testing"
import { Effect } from "effect"
import { migrations } from "../packages/storage-pg/src/migrations/migrations.ts"
import { eventually, until, waitUntil } from "../test/support/eventually.ts"
import { statements } from "../test/support/TestDatabase.ts"
import { Caller } from "./chaos/Caller.ts"
import type { FeedEvent } from "./chaos/Feed.ts"
import * as Follower from "./chaos/Follower.ts"
import * as Receiver from "./chaos/Receiver.ts"
import * as Service from "./chaos/Service.ts"

/** Hosts as processes, and an organization's key. */
const served = Effect.fnUntraced(function* (hosts: 1 | 2) {
  const service = yield* Effect.acquireRelease(
    Effect.promise(() => Service.open({ hosts, durable: false })),
    ({ close }) => Effect.promise(close)
  )
  const key = yield* Effect.promise(() => service.newKey("Acme"))
  return { ...service, key, base_url: service.hosts[0].base_url, url: service.servers[0].url("postgres") }
})

interface Sent {
  readonly method?: "GET" | "POST"
  readonly body?: object
  readonly agent?: Http.Agent
  /** Called when the whole request has been sent. */
  readonly onSent?: () => void
}

/** Sends a request once, whatever the outcome. */
const send = async (url: string, key: string, { agent, body, method = "GET", onSent }: Sent = {}) => {
  const response = await new Promise<Http.IncomingMessage>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": randomUUID()
    }
    const request = Http.request(url, { method, headers, ...(agent !== undefined && { agent }) }, resolve)
    request.on("error", reject).on("finish", () => onSent?.())
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(await text(response)) }
}

/** The request that starts a quote request. */
const starting = (more: object = {}): Sent => ({
  method: "POST",
  body: {
    line: "renters",
    consent_receipt_id: "receipt-0001",
    request_key: randomUUID(),
    application: ExampleApplications.smallest.renters,
    ...more
  }
})

const advance = (seconds: number): Sent => ({ method: "POST", body: { seconds } })

/** Ends every session, so that new ones use the settings made in the meantime. */
const endSessions =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'quotewire%' and pid <> pg_backend_pid()"

const faults = [
  {
    name: "is unreachable",
    begin: ({ servers: [server] }: Service.Service) => server.stop("fast"),
    end: ({ servers: [server] }: Service.Service) => server.startAgain(),
    reads: 503
  },
  {
    name: "refuses writes",
    begin: ({ servers: [server] }: Service.Service) =>
      statements(server.url("postgres"), "alter database postgres set default_transaction_read_only = on", endSessions),
    end: ({ servers: [server] }: Service.Service) =>
      statements(
        server.url("postgres"),
        "set default_transaction_read_only = off",
        "alter database postgres reset default_transaction_read_only",
        endSessions
      ),
    reads: 200
  }
]

describe("a host whose database fails", () => {
  it.live.each(faults)(
    "returns 503 with Retry-After, and loses nothing, while the database $name",
    ({ begin, end, reads }) =>
      Effect.gen(function* () {
        const service = yield* served(1)
        const { base_url, hosts, key } = service
        const receiver = yield* Effect.acquireRelease(
          Effect.promise(() => Receiver.open()),
          ({ close }) => Effect.sync(close)
        )
        const call = (path: string, sent?: Sent) => Effect.promise(() => send(`${base_url}${path}`, key, sent))
        /** Reads until the response has this status: new sessions take a moment. */
        const reading = (path: string, status: number) =>
          eventually(Effect.filterOrFail(call(path), (answer) => answer.status === status))
        const subscribed = yield* call("/v1/event-subscriptions", {
          method: "POST",
          body: { url: receiver.urlOf("mine"), event_types: ["quote_request.completed", "quote.created"] }
        })
        receiver.trust("mine", subscribed.body.signing_secret)
        const before = yield* call("/v1/quote-requests", starting())
        assert.strictEqual(before.status, 202)

        // During the fault, start calls are refused, and reads work as expected.
        yield* Effect.promise(async () => begin(service))
        const path = `/v1/quote-requests/${before.body.id}?wait_seconds=0`
        yield* reading("/health/ready", reads)
        yield* reading(path, reads)
        const later = starting()
        const refused = yield* call("/v1/quote-requests", later)
        assert.deepStrictEqual([refused.status, refused.body.error.code], [503, "service_unavailable"])
        assert.strictEqual(refused.body.error.retry_action.type, "retry")
        assert.isAtLeast(Number(refused.headers["retry-after"]), 1)
        assert.strictEqual((yield* call("/health/live")).status, 200)

        // After the fault, the refused start succeeds when repeated, and both requests are completed.
        yield* Effect.promise(async () => end(service))
        yield* reading("/health/ready", 200)
        const after = yield* eventually(
          Effect.filterOrFail(call("/v1/quote-requests", later), ({ status }) => status === 202)
        )
        yield* call("/v1/sandbox/time", advance(120))
        for (const { body } of [before, after]) {
          const read = yield* call(`/v1/quote-requests/${body.id}?wait_seconds=0`)
          assert.deepStrictEqual([read.body.quote_request.status, read.body.quotes.length], ["completed", 3])
        }
        // Every event is delivered, once and correctly signed.
        yield* until(() => receiver.received.bodies.size === 8)
        assert.deepStrictEqual(receiver.received.wrong, [])
        assert.isTrue(hosts[0].runs())
      })
  )
})

describe("three hundred long polls", () => {
  it.live("hold no database connection, block no other call, and wake up together", () =>
    Effect.gen(function* () {
      const { base_url, key, url } = yield* served(1)
      const call = (path: string, sent?: Sent) => Effect.promise(() => send(`${base_url}${path}`, key, sent))
      const { body } = yield* call("/v1/quote-requests", starting({ scenario: "waits_in_queue" }))
      const path = `/v1/quote-requests/${body.id}`
      let sent = 0
      let answered = 0
      const waits = Array.from({ length: 300 }, async () => {
        const answer = await send(`${base_url}${path}?since_version=${body.version}`, key, { onSent: () => sent++ })
        answered++
        return answer
      })
      yield* until(() => sent === waits.length)
      for (let count = 0; count < 20; count++) {
        assert.strictEqual((yield* call("/v1/quote-requests", starting())).status, 202)
        assert.strictEqual((yield* call(`${path}?wait_seconds=0`)).status, 200)
      }
      const [sessions] = yield* Effect.promise(() =>
        statements(
          url,
          "select count(*)::integer as count from pg_stat_activity where application_name like 'quotewire%'"
        )
      )
      // Two for reads, six for writes, and one that listens: as many as without waiting reads.
      assert.isAtMost(Number(sessions?.count), 9)
      assert.strictEqual(answered, 0)
      assert.strictEqual((yield* call(`${path}/cancel`, { method: "POST" })).body.status, "cancelled")
      for (const answer of yield* Effect.promise(() => Promise.all(waits))) {
        assert.deepStrictEqual(
          [answer.status, answer.body.quote_request.status_details.reason],
          [200, "cancelled_by_caller"]
        )
      }
    })
  )
})

/** Sends to one host, and to the other only if the first accepts no connection: a sent request is never sent again. */
const sendToEither = async (baseUrls: ReadonlyArray<string>, path: string, key: string, sent: Sent) => {
  for (const baseUrl of baseUrls) {
    try {
      return await send(`${baseUrl}${path}`, key, sent)
    } catch (error) {
      if (!isUnconnected(error)) throw error
    }
  }
  throw new Error("No host takes connections")
}

/**
 * The connection was refused, or reset by a listener that closed before it was established: either way, nothing was
 * sent.
 */
const isUnconnected = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && error.syscall === "connect"

describe("two hosts that start concurrently on an empty database", () => {
  it.live("both serve calls, and run each migration once", () =>
    Effect.gen(function* () {
      const { hosts, key, url } = yield* served(2)
      const { body } = yield* Effect.promise(() => send(`${hosts[0].base_url}/v1/quote-requests`, key, starting()))
      for (const { base_url } of hosts) {
        const path = `${base_url}/v1/quote-requests/${body.id}?wait_seconds=0`
        assert.strictEqual((yield* Effect.promise(() => send(path, key))).status, 200)
      }
      const ran = yield* Effect.promise(() => statements(url, "select * from quotewire.migration"))
      assert.lengthOf(ran, migrations.length)
    })
  )
})

describe("hosts that are replaced one after another", () => {
  it.live(
    "fail no request, even on keep-alive connections",
    () =>
      Effect.gen(function* () {
        const { hosts, key } = yield* served(2)
        const baseUrls = hosts.map((host) => host.base_url)
        const agent = yield* Effect.acquireRelease(
          Effect.sync(() => new Http.Agent({ keepAlive: true })),
          (kept) => Effect.sync(() => kept.destroy())
        )
        // Eight lanes start and read requests on both hosts.
        let over = false
        const accepted: Array<string> = []
        const lane = async (number: number) => {
          const order = number % 2 === 0 ? baseUrls : baseUrls.toReversed()
          while (!over) {
            const started = await sendToEither(order, "/v1/quote-requests", key, { ...starting(), agent })
            assert.strictEqual(started.status, 202, JSON.stringify(started.body))
            accepted.push(started.body.id)
            const wait = `/v1/quote-requests/${started.body.id}?wait_seconds=1&since_version=1`
            const read = await sendToEither(order, wait, key, { agent })
            assert.strictEqual(read.status, 200, JSON.stringify(read.body))
          }
        }
        const load = Promise.all(Array.from({ length: 8 }, (_, number) => lane(number)))
        // Each host is replaced twice under this load.
        const replaced = async () => {
          for (const host of [...hosts, ...hosts]) {
            const before = accepted.length
            await waitUntil(() => accepted.length >= before + 20, { unless: load })
            assert.strictEqual(await host.stop(), 0, host.said())
            await host.start()
          }
        }
        yield* Effect.promise(async () => {
          await Promise.race([replaced(), load]).finally(() => {
            over = true
          })
          await load
        })
        // Every accepted request is completed.
        const caller = new Caller(baseUrls, key)
        const end = { method: "POST", body: { seconds: 600 } } as const
        yield* Effect.promise(() =>
          caller.call("/v1/sandbox/time", { ...end, idempotency_key: "end", within_ms: 40_000 })
        )
        const events: Array<FeedEvent> = []
        yield* Effect.promise(() => Follower.read(caller, events, null))
        const completed = events
          .filter(({ type }) => type === "quote_request.completed")
          .map(({ resource }) => resource.id)
        assert.sameMembers(completed, accepted)
      }),
    120_000
  )
})
