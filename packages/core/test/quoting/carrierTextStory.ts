import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { ExchangeRecording } from "../../src/carriers/recorder/CarrierExchange.ts"
import * as Quotewire from "../../src/Quotewire.ts"
import { directoryWorkspace } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { secondMs } from "../../src/wire/Timestamp.ts"
import { type InWorld, live, read, runDue, start } from "../support/world.ts"
import { canary, refreshes, replies } from "./canaries.ts"
import { callbackOf, carrier, readCallback, type ScriptedCarrier } from "./carriers.ts"
import { eraseRequest, storedTexts } from "./erasing.ts"

/*
 * Carriers that put a unique word into every text that they can write, and a search for these words in a storage
 * backend.
 */

/** Sends an HTTP request, whose answer also contains words, and then replies. */
const saying = (reply: CarrierReply) =>
  Effect.gen(function* () {
    const client = yield* CarrierTransport
    const response = yield* client.execute(HttpClientRequest.get("https://carrier.example/"))
    yield* response.text
    return reply
  }).pipe(Effect.orDie)

const server = HttpClient.make((request) =>
  Effect.succeed(
    HttpClientResponse.fromWeb(
      request,
      Response.json({ canary_name: "canary_body" }, { headers: { "x-request-id": "canary_header" } })
    )
  )
)

const refresh = () => Effect.succeed(refreshes[0]?.answer ?? assert.fail("There is no refreshed offer"))

/** A carrier for each kind of reply, and one that accepts asks and calls back. */
const carriers: ReadonlyArray<ScriptedCarrier> = replies.flatMap(({ answer }, index) => {
  if (answer.kind !== "pending") return [carrier(`c${index}`, () => saying(answer), { rest: { refresh } })]
  const { callback_after_ms: _, ...pending } = answer
  const called: CarrierReply = { ...pending, poll_after_ms: null }
  return [
    carrier("polled", () => saying(pending), { mode: "poll", rest: { poll: () => saying(pending) } }),
    carrier("calls", () => saying(called), { mode: "callback", rest: { callback: readCallback } })
  ]
})

/** The options of a world with these carriers. */
export const options = {
  carriers: carriers.map(({ adapter }) => adapter),
  surroundings: Layer.mergeAll(
    Layer.succeed(CarrierTransport, server),
    Layer.succeed(ExchangeRecording, { sandbox: "all", live: "all" })
  )
}

/**
 * Words that are read but not kept: a question's choices; an ask's number, whose keyed hash is kept; and the reason in
 * a refreshed offer, which the refresh's own reason replaces.
 */
const notKept = /^canary_(?:reply_questions_allowed_values|reply_ref|refresh_offer_reason)$/

const wordsIn = (text: string): ReadonlyArray<string> => [...new Set(text.match(canary))].sort()

/** Lets time pass, and runs everything that comes due. */
const after = (millis: number) => Effect.andThen(TestClock.adjust(millis), runDue)

/**
 * A request whose carriers write all their words, and its erasure. `inClear` is all that can be read in the storage without a seal
 * key, and never contains a word. What a seal key opens contains every word before the erasure, and none after.
 */
export const story = (inClear: Effect.Effect<string, unknown>): InWorld<void> =>
  Effect.gen(function* () {
    const { organization } = yield* World
    const opened = Effect.map(
      Effect.all([storedTexts(organization.workspaces.live), storedTexts(directoryWorkspace)]),
      (texts) => wordsIn(texts.join("\n"))
    )
    const { id } = yield* start({}, live)
    yield* runDue
    yield* after(0)
    assert.deepStrictEqual(wordsIn(yield* inClear), [])
    const unknown = callbackOf("canary_unknown", {
      kind: "declined",
      reason: "carrier_notice",
      message: "canary_early"
    })
    yield* Effect.flip(Quotewire.carrierCallback("calls", unknown))
    yield* after(5 * secondMs)
    const first = yield* opened
    yield* after(100 * secondMs)
    yield* after(3_600 * secondMs)
    assert.deepStrictEqual(wordsIn(yield* inClear), [])
    const said = [...replies, ...refreshes].flatMap(({ words }) => words)
    const kept = new Set([...first, ...(yield* opened)])
    assert.deepStrictEqual(
      said.filter((word) => !kept.has(word)).filter((word) => !notKept.test(word)),
      []
    )
    assert.isAbove(wordsIn(JSON.stringify(yield* read(id, live))).length, 10)

    yield* eraseRequest(id)
    assert.deepStrictEqual(wordsIn(JSON.stringify(yield* read(id, live))), [])
    assert.deepStrictEqual(yield* opened, [])
    yield* after(600 * secondMs)
    assert.deepStrictEqual(wordsIn(yield* inClear), [])
    assert.deepStrictEqual(yield* opened, [])
  })
