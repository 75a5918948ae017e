import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { until } from "../../../../test/support/eventually.ts"
import * as Endpoint from "./support/endpoint.ts"
import { make, outcome, request } from "./support/sender.ts"

const urlOf = ({ port }: Endpoint.Endpoint) => `http://127.0.0.1:${port}/`
const all = <A>(effects: ReadonlyArray<Effect.Effect<A>>) => Effect.all(effects, { concurrency: "unbounded" })
/** Responds after a turn of the event loop, so that several requests are in progress concurrently. */
const soon: Endpoint.Script = (socket, got) => void setImmediate(() => Endpoint.answer(200)(socket, got))

describe("webhook connections", () => {
  it.live("are limited per host, and every waiting request is sent", () =>
    Effect.gen(function* () {
      const endpoint = yield* Endpoint.start(soon)
      const sender = yield* make({ connections_per_host: 4 })
      const sent = yield* all(Array.from({ length: 60 }, () => sender.send(request(urlOf(endpoint)))))
      assert.isTrue(sent.every(({ failure }) => failure === null))
      assert.strictEqual(endpoint.requests.length, 60)
      assert.deepStrictEqual(endpoint.connections(), { all: 4, open: 4, most: 4 })
    }).pipe(Effect.scoped)
  )

  it.live("are limited in total, including idle connections", () =>
    Effect.gen(function* () {
      const endpoints = yield* Effect.all(Array.from({ length: 6 }, () => Endpoint.start(soon)))
      const open = () => endpoints.reduce((sum, endpoint) => sum + endpoint.connections().open, 0)
      let most = 0
      const watched = endpoints.flatMap((endpoint) => Array.from({ length: 10 }, () => urlOf(endpoint)))
      const sender = yield* make({ connections: 3 })
      const sent = yield* all(
        watched.map((url) =>
          Effect.tap(
            sender.send(request(url)),
            Effect.sync(() => (most = Math.max(most, open())))
          )
        )
      )
      assert.isTrue(sent.every(({ failure }) => failure === null))
      // What was closed here may still be open at the other end for a moment.
      yield* until(() => open() <= 3)
      assert.isAtLeast(most, 1)
    }).pipe(Effect.scoped)
  )

  it.live("stay available to other hosts while one host hangs", () =>
    Effect.gen(function* () {
      const hanging = yield* Endpoint.start(() => {})
      const other = yield* Endpoint.start(Endpoint.answer(200))
      const sender = yield* make({ connections_per_host: 2 })
      const [waiting, busy, fine] = yield* all([
        all([0, 1].map(() => Effect.map(sender.send(request(urlOf(hanging), 400)), outcome))),
        all([0, 1].map(() => Effect.map(sender.send(request(urlOf(hanging), 100)), outcome))),
        all([0, 1].map(() => Effect.map(sender.send(request(urlOf(other))), outcome)))
      ])
      assert.deepStrictEqual(waiting, [
        [null, "timeout"],
        [null, "timeout"]
      ])
      assert.deepStrictEqual(busy, [
        [null, "busy"],
        [null, "busy"]
      ])
      assert.deepStrictEqual(fine, [
        [200, null],
        [200, null]
      ])
      assert.strictEqual(hanging.requests.length, 2)
      yield* until(() => hanging.connections().open === 0)
    }).pipe(Effect.scoped)
  )

  it.live("are used by hanging hosts only up to half of the limit", () =>
    Effect.gen(function* () {
      const hanging = yield* Effect.all([0, 1, 2].map(() => Endpoint.start(() => {})))
      const other = yield* Endpoint.start(Endpoint.answer(200))
      const sender = yield* make({ connections: 4 })
      const to = (endpoint: Endpoint.Endpoint, deadlineMs: number) =>
        Effect.map(sender.send(request(urlOf(endpoint), deadlineMs)), outcome)
      // The sender does not know yet that these endpoints hang.
      yield* all(hanging.map((endpoint) => to(endpoint, 50)))
      const held = yield* Effect.forkChild(all(hanging.map((endpoint, index) => to(endpoint, index < 2 ? 600 : 150))))
      yield* until(() => hanging.reduce((sum, endpoint) => sum + endpoint.connections().open, 0) === 2)
      assert.deepStrictEqual(yield* all([0, 1, 2, 3].map(() => to(other, 300))), [
        [200, null],
        [200, null],
        [200, null],
        [200, null]
      ])
      assert.deepStrictEqual(
        (yield* Fiber.join(held)).map(([, failure]) => failure),
        ["timeout", "timeout", "busy"]
      )
      // Their connections are free again.
      assert.deepStrictEqual(
        (yield* all(hanging.slice(0, 2).map((endpoint) => to(endpoint, 50)))).map(([, failure]) => failure),
        ["timeout", "timeout"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("become free for the next request when a request is cancelled", () =>
    Effect.gen(function* () {
      const endpoint = yield* Endpoint.start(() => {})
      const sender = yield* make({ connections_per_host: 1, connections: 1 })
      const send = sender.send(request(urlOf(endpoint)))
      const fibers = yield* Effect.all(
        Array.from({ length: 5 }, () => Effect.forkChild(send, { startImmediately: true }))
      )
      for (const [index, fiber] of fibers.entries()) {
        yield* until(() => endpoint.requests.length === index + 1)
        yield* Fiber.interrupt(fiber)
      }
      yield* until(() => endpoint.connections().open === 0)
    }).pipe(Effect.scoped)
  )

  it.live("are closed when idle", () =>
    Effect.gen(function* () {
      const endpoint = yield* Endpoint.start(soon)
      const sender = yield* make({ idle_ms: 30 })
      yield* all(Array.from({ length: 5 }, () => sender.send(request(urlOf(endpoint)))))
      assert.strictEqual(endpoint.connections().all, 5)
      yield* until(() => endpoint.connections().open === 0)
      assert.deepStrictEqual(outcome(yield* sender.send(request(urlOf(endpoint)))), [200, null])
    }).pipe(Effect.scoped)
  )

  it.live("are not reused after the endpoint has closed them", () =>
    Effect.gen(function* () {
      const endpoint = yield* Endpoint.start(Endpoint.answer(200, { connection: "close" }))
      const sender = yield* make()
      for (let i = 0; i < 5; i++)
        assert.deepStrictEqual(outcome(yield* sender.send(request(urlOf(endpoint)))), [200, null])
      assert.strictEqual(endpoint.requests.length, 5)
      assert.strictEqual(endpoint.connections().all, 5)
    }).pipe(Effect.scoped)
  )
})

describe("closing a webhook sender", () => {
  it.live("leaves no connections or timers behind, whatever was in progress", () =>
    Effect.gen(function* () {
      const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length
      const scripts: ReadonlyArray<Endpoint.Script> = [
        Endpoint.answer(200),
        () => {},
        (socket) => void socket.destroy(),
        Endpoint.raw("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"),
        Endpoint.answer(200, {}, "x".repeat(1_000_000)),
        Endpoint.raw("garbage\r\n\r\n")
      ]
      const endpoints = yield* Effect.all(scripts.map((script) => Endpoint.start(script)))
      let before = 0
      // Waiting uses timers, too: the same number before and after.
      yield* until(() => {
        before = timers()
        return true
      })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sender = yield* make()
          for (const endpoint of endpoints) {
            for (let i = 0; i < 20; i++) yield* Effect.forkScoped(sender.send(request(urlOf(endpoint))))
          }
          yield* until(() => endpoints.every((endpoint) => endpoint.requests.length >= 16))
          assert.isAbove(timers(), before)
        })
      )
      yield* until(() => endpoints.every((endpoint) => endpoint.connections().open === 0))
      yield* until(() => timers() <= before)
    }).pipe(Effect.scoped)
  )
})
