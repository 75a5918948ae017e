import { assert, describe, it } from "@effect/vitest"
import { verifyWebhook } from "@quotewire/core"
import { Effect, Queue } from "effect"
import { runInProcess, startInProcess } from "../support/inProcess.ts"
import { host, type Received, receiver, unknownKey } from "../support/servedHost.ts"

/** What `listen` prints before the first event. */
const readyLine = "Forwarding events as they arrive. Press Ctrl-C to stop."

const own = `whsec_${Buffer.alloc(32, 1).toString("base64")}`

const verified = ({ body, headers }: Received, secret: string) =>
  Effect.promise(() => verifyWebhook({ secrets: [secret], headers, body }))

/** The headers of a delivery whose values do not depend on the time, the address or the connection. */
const lasting = ({ headers }: Received) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) =>
      /^(?:host|connection|.*-timestamp|.*-signature)$/.test(name) ? [name, "…"] : [name, value]
    )
  )

describe("quotewire listen", () => {
  it.live("sends a receiver exactly the delivery that a subscription would get", () =>
    Effect.gen(function* () {
      const { client, env, startOne } = yield* host
      const [subscribed, listening] = [yield* receiver(204), yield* receiver(204)]
      const { signing_secret: secret } = yield* Effect.promise(() =>
        client.create_event_subscription({ url: subscribed.url, event_types: ["quote_request.queued"] })
      )
      const signingSecret = secret ?? assert.fail("A new subscription has a secret.")
      const { next } = yield* startInProcess(["listen", "--forward-to", listening.url], {
        ...env,
        QUOTEWIRE_SIGNING_SECRET: signingSecret
      })
      assert.strictEqual(yield* next, readyLine)
      yield* startOne
      const line = yield* next
      const [delivered, forwarded] = [yield* Queue.take(subscribed.received), yield* Queue.take(listening.received)]
      assert.strictEqual(forwarded.body, delivered.body)
      assert.deepStrictEqual(lasting(forwarded), lasting(delivered))
      assert.isTrue((yield* verified(forwarded, signingSecret)).ok)
      const { id, occurred_at, resource } = JSON.parse(forwarded.body)
      assert.match(
        line,
        new RegExp(`^${occurred_at}  quote_request\\.queued +${id}  ${resource.id} version 1  204 in \\d+ ms$`)
      )
    })
  )

  it.live("generates and prints a signing secret, and signs deliveries with the secret", () =>
    Effect.gen(function* () {
      const { env, startOne } = yield* host
      const { received, url } = yield* receiver(200)
      const { next } = yield* startInProcess(["listen", "--forward-to", url, "--json"], env)
      const { signing_secret } = JSON.parse(yield* next)
      yield* startOne
      const { event, failure, status } = JSON.parse(yield* next)
      const forwarded = yield* Queue.take(received)
      assert.isTrue((yield* verified(forwarded, signing_secret)).ok)
      assert.deepStrictEqual({ ...event, schema_version: "2026-09-26" }, JSON.parse(forwarded.body))
      assert.deepStrictEqual([status, failure], [200, null])
    })
  )

  it.live("reports once that no receiver is running, and delivers as soon as a receiver starts", () =>
    Effect.gen(function* () {
      const { env, startOne } = yield* host
      const gone = yield* receiver(204)
      yield* Effect.promise(gone.close)
      const { err, next } = yield* startInProcess(["listen", "--forward-to", gone.url, "--signing-secret", own], env)
      assert.strictEqual(yield* next, readyLine)
      for (const _ of ["first", "second"]) {
        yield* startOne
        assert.match(yield* next, / {2}connection refused in \d+ ms$/)
      }
      assert.strictEqual(err.length, 1)
      assert.match(err.join(), /^quotewire: Nothing is listening at --forward-to\./)
      yield* receiver(204, Number(new URL(gone.url).port))
      yield* startOne
      assert.match(yield* next, / {2}204 in \d+ ms$/)
    })
  )

  it.live("does not follow a redirect, and prints the redirect's status", () =>
    Effect.gen(function* () {
      const { env, startOne } = yield* host
      const { received, url } = yield* receiver(307)
      const { next } = yield* startInProcess(["listen", "--forward-to", url, "--signing-secret", own], env)
      yield* next
      yield* startOne
      assert.match(yield* next, / {2}307 in \d+ ms$/)
      yield* Queue.take(received)
      assert.strictEqual(yield* Queue.size(received), 0)
    })
  )

  it.live("forwards only the requested event types, and prints the cursor for the next run", () =>
    Effect.gen(function* () {
      const { client, env, startOne } = yield* host
      const { id } = yield* startOne
      yield* Effect.promise(() => client.cancel_quote_request({ id }))
      const { url } = yield* receiver(204)
      const args = ["listen", "--forward-to", url, "--signing-secret", own, "--types", "quote_request.cancelled"]
      const { err, next, stop } = yield* startInProcess([...args, "--since", "start"], env)
      assert.strictEqual(yield* next, readyLine)
      assert.include(yield* next, `  quote_request.cancelled   `)
      yield* stop
      const [, cursor = ""] = /--since (\S+)$/.exec(err.join()) ?? []
      const rest = yield* runInProcess(["events", "list", "--since", cursor], env)
      assert.deepStrictEqual(rest, { how: "done", out: "", err: "" })
    })
  )

  const to = ["--forward-to", "http://localhost:1/"]
  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<string>, RegExp]> = [
    ["an address with another scheme", ["--forward-to", "ftp://localhost/"], /^--forward-to must be an http or https/],
    ["an address with a password", ["--forward-to", "http://a:b@localhost/"], /^--forward-to must be an http or https/],
    ["a malformed secret", [...to, "--signing-secret", "whsec_1"], /^--signing-secret .* must be whsec_ and 24 to 64/],
    ["a misspelled type", [...to, "--types", "quote.create"], /the closest is quote\.created\./],
    ["a misspelled flag", [...to, "--forward-too", "x"], /^There is no such flag; the closest is --forward-to\./]
  ]
  it.live.each(wrong)("explains a usage error in one sentence: %s", ([, args, message]) =>
    Effect.gen(function* () {
      const ended = yield* runInProcess(["listen", ...args], { QUOTEWIRE_API_KEY: unknownKey("sandbox") })
      assert.deepStrictEqual([ended.how, ended.out], ["wrong usage", ""])
      assert.match(ended.err, message)
    })
  )
})

describe("quotewire events resend", () => {
  it.live("signs an event from the feed, and sends the event to a receiver", () =>
    Effect.gen(function* () {
      const { env, startOne } = yield* host
      yield* startOne
      const { received, url } = yield* receiver(204)
      const listed = yield* runInProcess(["events", "list", "--json"], env)
      const event = JSON.parse(listed.out)
      const args = ["events", "resend", event.id, "--forward-to", url]
      const sent = yield* runInProcess([...args, "--signing-secret", own], env)
      assert.deepStrictEqual([sent.how, sent.err], ["done", ""])
      assert.match(sent.out, / {2}204 in \d+ ms$/)
      const forwarded = yield* Queue.take(received)
      assert.isTrue((yield* verified(forwarded, own)).ok)
      assert.deepStrictEqual(JSON.parse(forwarded.body), { ...event, schema_version: "2026-09-26" })

      const unsigned = yield* runInProcess(args, env)
      assert.strictEqual(unsigned.how, "wrong usage")
      assert.include(unsigned.err, "--forward-to needs --signing-secret")
      const none = yield* runInProcess(
        ["events", "resend", `evt_${"0".repeat(26)}`, "--forward-to", url, "--signing-secret", own],
        env
      )
      assert.deepStrictEqual(
        [none.how, none.err],
        ["failed", "quotewire: No such event in the feed, which keeps events for 30 days."]
      )
    })
  )

  it.live("fails if the receiver does not confirm the event", () =>
    Effect.gen(function* () {
      const { env, startOne } = yield* host
      yield* startOne
      const { url } = yield* receiver(500)
      const { id } = JSON.parse((yield* runInProcess(["events", "list", "--json"], env)).out)
      const args = ["events", "resend", id, "--forward-to", url, "--signing-secret", own]
      const sent = yield* runInProcess(args, env)
      assert.match(sent.out, / {2}500 in \d+ ms$/)
      assert.deepStrictEqual(
        [sent.how, sent.err],
        ["failed", "quotewire: The receiver did not confirm the event with a 2xx status."]
      )
    })
  )

  it.live("makes the host redeliver an event to a subscription", () =>
    Effect.gen(function* () {
      const { client, env, startOne } = yield* host
      const { received, url } = yield* receiver(204)
      const { id } = yield* Effect.promise(() =>
        client.create_event_subscription({ url, event_types: ["quote_request.queued"] })
      )
      yield* startOne
      const first = yield* Queue.take(received)
      const eventId = first.headers["webhook-id"]?.toString() ?? ""
      const sent = yield* runInProcess(["events", "resend", eventId, "--subscription", id], env)
      assert.deepStrictEqual(sent, { how: "done", out: `${eventId}  queued for delivery to ${id}`, err: "" })
      assert.strictEqual((yield* Queue.take(received)).body, first.body)
      const both = yield* runInProcess(["events", "resend", eventId, "--subscription", id, "--forward-to", url], env)
      assert.deepStrictEqual(
        [both.how, both.err],
        ["wrong usage", "quotewire: Use either --forward-to or --subscription, not both."]
      )
    })
  )
})
