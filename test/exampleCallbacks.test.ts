import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { callbacks } from "../examples/carriers/callbacks.ts"
import { type AdapterAt, callbackSecret, practise, saidOf } from "./support/practice.ts"

/*
 * Callbacks to the example carrier callbacks.ts: forged, repeated, early, unknown, and those for other requests.
 */

const callbacksAt: AdapterAt = (baseUrl, terms) => callbacks(baseUrl, callbackSecret, terms)

describe("a callback to the example carrier callbacks.ts", () => {
  /** Sends a callback signed with this secret, as the carrier does. */
  const send = async (url: string, decision: unknown, secret = callbackSecret) => {
    const body = JSON.stringify(decision)
    const signature = createHmac("sha256", secret).update(body).digest("hex")
    const headers = { "x-signature": `sha256=${signature}` }
    const { status, headers: answered } = await fetch(url, { method: "POST", body, headers })
    return [status, answered.get("retry-after")]
  }
  const accepted = (application_number: string, annual_premium_cents = 1) => ({
    application_number,
    decision: "accepted",
    annual_premium_cents
  })

  it("is accepted only from the carrier, and only once", async () => {
    await using world = await practise(callbacksAt)
    world.carrier.turn("late")
    const id = await world.start()
    await world.accepted(id)
    assert.deepStrictEqual(await send(world.callback_url, accepted("APP-1"), "guessed"), [404, null])
    assert.deepStrictEqual(await world.resultOf(id), ["pending", null])
    assert.deepStrictEqual(await send(world.callback_url, accepted("APP-1")), [204, null])
    assert.deepStrictEqual(await send(world.callback_url, accepted("APP-1", 2)), [204, null])
    assert.deepStrictEqual(await world.resultOf(id), ["quoted", 1])
  })

  it("gets 503 if it arrives before the request is sent, and is accepted later", async () => {
    await using world = await practise(callbacksAt)
    world.carrier.turn("late")
    assert.deepStrictEqual(await send(world.callback_url, accepted("APP-1")), [503, "5"])
    const id = await world.start()
    await world.accepted(id)
    assert.deepStrictEqual(await send(world.callback_url, accepted("APP-1")), [204, null])
    assert.deepStrictEqual(await world.resultOf(id), ["quoted", 1])
  })

  it("gets 503 for a minute, and then 404, if its application number is unknown", async () => {
    await using world = await practise(callbacksAt)
    const sent = Date.parse("2026-11-20T12:00:00Z")
    assert.deepStrictEqual(await send(world.callback_url, accepted("APP-9")), [503, "5"])
    await world.time.until(() => world.time.clock.currentTimeMillisUnsafe() >= sent + 61_000)
    assert.deepStrictEqual(await send(world.callback_url, accepted("APP-9")), [404, null])
  })

  it("reaches only the organization with its application number", async () => {
    await using world = await practise(callbacksAt)
    world.carrier.turn("late")
    const other = await world.join(world.quotewire, "live", "Borealis")
    const sandbox = await world.join(world.quotewire, "sandbox", "Cirrus")
    const ids = [await world.start(), await other.start(), await sandbox.start()] as const
    await world.accepted(ids[0])
    await other.accepted(ids[1])
    await sandbox.accepted(ids[2])
    // The carrier numbers applications in order of arrival, so each number is read from its record.
    const { entries } = await world.quotewire.timeline(ids[1], { bodies: true })
    const bodies = entries.flatMap((entry) => (entry.what === "exchange" ? entry.details.http : []))
    const [, number = ""] = /"(APP-\d)"/.exec(bodies.at(-1)?.response?.body ?? "") ?? []
    assert.deepStrictEqual(await send(world.callback_url, accepted(number)), [204, null])
    assert.deepStrictEqual(await other.resultOf(ids[1]), ["quoted", 1])
    assert.deepStrictEqual(await world.resultOf(ids[0]), ["pending", null])
    assert.deepStrictEqual(await sandbox.resultOf(ids[2]), ["pending", null])
  })

  it("causes unreadable_answer and a warning if it contains signed garbage", async () => {
    await using world = await practise(callbacksAt)
    world.carrier.turn("late")
    const id = await world.start()
    await world.accepted(id)
    const garbage = { application_number: "APP-1", decision: "perhaps" }
    assert.deepStrictEqual(await send(world.callback_url, garbage), [204, null])
    assert.deepStrictEqual(await world.resultOf(id), ["no_answer", "unreadable_answer"])
    assert.deepStrictEqual(saidOf(world.warnings, id), [
      { text: "A carrier's adapter returned no answer", reason: "unreadable_answer" }
    ])
  })
})
