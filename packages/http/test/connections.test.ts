import { assert, describe, it } from "@effect/vitest"
import { Route } from "@quotewire/http"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { until } from "../../../test/support/eventually.ts"
import { type Keys, start } from "./support/host.ts"
import { operations } from "./support/operations.ts"
import * as Wire from "./support/wire.ts"

const head = (keys: Keys, line: string, ...headers: ReadonlyArray<string>): string =>
  [`${line} HTTP/1.1`, "Host: x", `Authorization: Bearer ${keys.server}`, ...headers, "", ""].join("\r\n")

const post = (keys: Keys, ...headers: ReadonlyArray<string>): string =>
  head(keys, "POST /v1/things", "Idempotency-Key: k", "Content-Type: application/json", ...headers)

/** A connection on which the host waits for a body. */
const readingBody = (port: number, keys: Keys, ...headers: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const wire = yield* Wire.open(port)
    yield* wire.write(post(keys, "Expect: 100-continue", ...headers))
    assert.match(yield* wire.until(/\r\n\r\n$/), /^HTTP\/1\.1 100/)
    return wire
  })

/** Waits until the host, which is at its limit of connections, accepts and serves another one. */
const acceptedBy = (port: number) =>
  Effect.gen(function* () {
    const again = Wire.exchange(port, "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    const answer = yield* Effect.repeat(again, { until: (text) => text !== "" })
    assert.strictEqual(Wire.parse(answer).status, 200)
  })

/** As far as the host can tell, the caller did nothing wrong, so it is told to retry. */
const assertToldToRetry = ({ headers, status, text }: ReturnType<typeof Wire.parse>) => {
  assert.deepStrictEqual([status, headers.get("retry-after")], [503, "1"])
  const { code, retry_action } = JSON.parse(text).error
  assert.deepStrictEqual([code, retry_action.type], ["service_unavailable", "retry"])
}

describe("connections to a host", () => {
  it.live("are refused at the limit until another connection closes", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start({ connections: 2 })
      const get = head(keys, "GET /v1/things/thing_1")
      const answered = (wire: Wire.Wire) => Effect.andThen(wire.write(get), wire.until(/\}$/))
      const first = yield* Scope.make()
      yield* answered(yield* Scope.provide(Wire.open(port), first))
      const second = yield* Wire.open(port)
      yield* answered(second)
      const third = yield* Wire.open(port)
      assert.strictEqual(yield* third.closed, "")
      yield* Scope.close(first, Exit.void)
      yield* acceptedBy(port)
    }).pipe(Effect.scoped)
  )
})

describe("large request bodies", () => {
  it.live("are refused before they are sent if their declared length is too large", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start()
      const wire = yield* Wire.open(port)
      yield* wire.write(post(keys, "Content-Length: 1000000000"))
      const { status, headers } = Wire.parse(yield* wire.until(/\}$/))
      assert.strictEqual(status, 413)
      assert.strictEqual(headers.get("connection"), "close")
      yield* wire.closed
    }).pipe(Effect.scoped)
  )

  it.live("are refused with 413 during a chunked upload", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start()
      const wire = yield* Wire.open(port)
      yield* wire.write(post(keys, "Transfer-Encoding: chunked"))
      const chunk = `${(64 * 1024).toString(16)}\r\n${" ".repeat(64 * 1024)}\r\n`
      for (let sent = 0; sent < 64 && !wire.received().includes("}"); sent++) yield* wire.write(chunk)
      const { status, text } = Wire.parse(yield* wire.closed)
      assert.strictEqual(status, 413)
      assert.strictEqual(JSON.parse(text).error.code, "request_too_large")
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("get a 413 response even if the caller reads only after sending everything", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      const answer = yield* send("POST", "/v1/things", {
        body: " ".repeat(2_000_000),
        headers: { "idempotency-key": "k" }
      })
      assert.strictEqual(answer.status, 413)
    })
  )

  it.live("are accepted at exactly the maximum size", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      const json = '{"name":"a"}'
      const options = { headers: { "idempotency-key": "k" }, body: json.padEnd(256 * 1024) }
      assert.strictEqual(
        (yield* send("POST", "/v1/things", {
          ...options,
          headers: { ...options.headers, "content-type": "application/json" }
        })).status,
        201
      )
    })
  )

  it.live("are refused before they are sent if the caller sends Expect: 100-continue", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start()
      const refused = yield* Wire.open(port)
      yield* refused.write(post(keys, "Expect: 100-continue", "Content-Length: 300000"))
      assert.match(yield* refused.until(/HTTP/), /^HTTP\/1\.1 413/)
      const admitted = yield* Wire.open(port)
      yield* admitted.write(post(keys, "Expect: 100-continue", "Content-Length: 12"))
      assert.match(yield* admitted.until(/HTTP/), /^HTTP\/1\.1 100/)
      yield* admitted.write('{"name":"a"}')
      assert.match(yield* admitted.until(/HTTP\/1\.1 2/), /HTTP\/1\.1 201/)
    }).pipe(Effect.scoped)
  )
})

describe("connections to a host", () => {
  it.live("stay open after a request with a small body that the host does not read", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start()
      const wire = yield* Wire.open(port)
      yield* wire.write(`${head(keys, "POST /v1/none", "Content-Length: 4")}1234${head(keys, "GET /v1/things/th_1")}`)
      const text = yield* wire.until(/HTTP\/1\.1 200/)
      assert.match(text, /^HTTP\/1\.1 404/)
    }).pipe(Effect.scoped)
  )

  it.live("stop counting toward the limit when they break during a body", () =>
    Effect.gen(function* () {
      const { keys, notes, port } = yield* start({ connections: 1 })
      const wire = yield* readingBody(port, keys, "Content-Length: 100")
      yield* wire.write('{"name":')
      wire.socket.destroy()
      // The host accepts another connection once it knows that this one is gone.
      yield* acceptedBy(port)
      assert.deepStrictEqual(notes.all(), [])
    }).pipe(Effect.scoped)
  )

  it.live("cancel a pending long poll when the caller disconnects", () =>
    Effect.gen(function* () {
      const { keys, notes, port } = yield* start()
      const wire = yield* Wire.open(port)
      yield* wire.write(head(keys, "GET /v1/things/th_stuck/wait"))
      yield* until(() => notes.all().includes("waiting"))
      wire.socket.destroy()
      yield* until(() => notes.all().includes("interrupted"))
    }).pipe(Effect.scoped)
  )

  it.live("are closed with a 503 response if a request arrives too slowly", () =>
    Effect.gen(function* () {
      const { port } = yield* start({ request_timeout_ms: 300 })
      const wire = yield* Wire.open(port)
      yield* wire.write("GET /v1/things/th_1 HTTP/1.1\r\nHost:")
      assertToldToRetry(Wire.parse(yield* wire.closed))
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )
})

describe("raw HTTP requests", () => {
  it.live("get exactly one response, with status 400, if the body is malformed", () =>
    Effect.gen(function* () {
      const { keys, notes, port } = yield* start()
      const wire = yield* readingBody(port, keys, "Transfer-Encoding: chunked")
      const before = wire.received().length
      yield* wire.write("1\r\n{\r\n")
      yield* wire.write("zz\r\n")
      const text = (yield* wire.closed).slice(before)
      assert.strictEqual(text.match(/HTTP\/1\.1/g)?.length, 1, text)
      assert.strictEqual(Wire.parse(text).status, 400)
      assert.deepStrictEqual(notes.all(), [])
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("get exactly one response, with status 503, if the body never arrives", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start({ request_timeout_ms: 300 })
      const wire = yield* Wire.open(port)
      yield* wire.write(`${post(keys, "Content-Length: 100")}{`)
      const text = yield* wire.closed
      assert.strictEqual(text.match(/HTTP\/1\.1/g)?.length, 1, text)
      assertToldToRetry(Wire.parse(text))
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("are accepted if the target is a full URL", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start()
      const text = yield* Wire.exchange(
        port,
        head(keys, "GET http://api.example/v1/things/th_1?version=1", "Connection: close")
      )
      assert.strictEqual(Wire.parse(text).status, 200)
    })
  )
})

describe("starting a host", () => {
  it.live("fails with a one-sentence error if the port is in use", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const error = yield* Effect.flip(start({ port }))
      assert.match(error.message, /^Cannot listen on port \d+: .*EADDRINUSE/)
    })
  )

  it.live("frees the port if startup is interrupted", () =>
    Effect.gen(function* () {
      const { port } = yield* Effect.scoped(start())
      const never = operations.map((operation) => ({ ...operation, available: Effect.interrupt }))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.scoped(start({ port, operations: never })))))
      assert.strictEqual((yield* start({ port })).port, port)
    })
  )
})

describe("stopping a host", () => {
  it.live("answers pending long polls before it closes the connections", () =>
    Effect.gen(function* () {
      const woken = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      const { keys, notes, port, send } = yield* start({ wake: Deferred.complete(woken, Effect.void) }).pipe(
        Scope.provide(scope)
      )
      yield* Effect.forkChild(Effect.andThen(Deferred.await(woken), Deferred.complete(notes.woken, Effect.void)))
      const waiting = yield* Effect.forkChild(send("GET", "/v1/things/th_1/wait"))
      yield* until(() => notes.all().includes("waiting"))
      yield* Scope.close(scope, Exit.void)
      const answer = yield* Fiber.join(waiting)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("connection"), "close")
      const refused = yield* Effect.exit(Wire.exchange(port, head(keys, "GET /v1/things/th_1")))
      assert.isTrue(Exit.isFailure(refused))
    })
  )

  it.live("interrupts calls that do not finish in time, and answers them with 503", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { notes, send } = yield* start({ grace_ms: 100 }).pipe(Scope.provide(scope))
      const waiting = yield* Effect.forkChild(send("GET", "/v1/things/th_stuck/wait"))
      yield* until(() => notes.all().includes("waiting"))
      yield* Scope.close(scope, Exit.void)
      const answer = yield* Fiber.join(waiting)
      assert.strictEqual(answer.status, 503)
      assert.strictEqual(JSON.parse(answer.text).error.code, "service_unavailable")
      assert.isNotNull(answer.headers.get("retry-after"))
      assert.include(notes.all(), "interrupted")
    })
  )

  it.live.each([
    ["a hanging call that changes data", "POST", "/v1/things"],
    ["a route that cannot be interrupted", "GET", "/stuck"]
  ] as const)("is not delayed by %s", ([, method, path]) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const began = yield* Deferred.make<void>()
      const stuck = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      const routes = [Route.make("GET", "/stuck", () => Effect.uninterruptible(stuck))]
      const { notes, send } = yield* start({ grace_ms: 0, routes }).pipe(Scope.provide(scope))
      const json = { name: "stuck" }
      const headers = { "idempotency-key": "k" }
      yield* Effect.forkChild(send(method, path, method === "GET" ? {} : { headers, json }))
      yield* method === "GET" ? Deferred.await(began) : until(() => notes.all().includes("made stuck"))
      yield* Scope.close(scope, Exit.void)
    })
  )

  it.live("responds to a late request on an idle connection, and closes the connection with the response", () =>
    Effect.gen(function* () {
      const stopping = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      const { keys, port } = yield* start({
        drain_ms: 60_000,
        grace_ms: 60_000,
        wake: Effect.asVoid(Deferred.succeed(stopping, undefined))
      }).pipe(Scope.provide(scope))
      const idle = yield* Wire.open(port)
      yield* idle.write(head(keys, "GET /v1/things/th_1"))
      yield* idle.until(/\}$/)
      const stopped = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* Deferred.await(stopping)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Wire.exchange(port, head(keys, "GET /v1/things/th_1")))))
      yield* idle.write(head(keys, "GET /v1/things/th_1"))
      const answers = (yield* idle.closed).split(/(?=HTTP\/1\.1)/)
      assert.deepStrictEqual(
        answers.map((text) => [Wire.parse(text).status, Wire.parse(text).headers.get("connection")]),
        [
          [200, "keep-alive"],
          [200, "close"]
        ]
      )
      // No connection is left, long before the time is up.
      yield* Fiber.join(stopped)
    }).pipe(Effect.scoped)
  )

  it.live("does not wait for idle connections", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { keys, port } = yield* start({ drain_ms: 3_600_000 }).pipe(Scope.provide(scope))
      const idle = yield* Wire.open(port)
      yield* idle.write(head(keys, "GET /v1/things/th_1"))
      yield* idle.until(/\}$/)
      yield* Scope.close(scope, Exit.void)
      yield* idle.closed
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )
})
