import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierAdapter, CarrierAsk, CarrierReply } from "../../src/carriers/Carrier.ts"
import { catalogue, parse } from "../../src/carriers/Scenario.ts"
import { lineNames, type StandardLineName } from "../../src/lines/standard.ts"
import { secondMs, toMillis } from "../../src/wire/Timestamp.ts"
import timelines from "../scenarios.json" with { type: "json" }
import { askFor, carriers, carriersOf, reference, requestedAt } from "./support.ts"

interface Row {
  readonly t: number
  readonly note: string
}

/** A carrier's final answer, and its time; null if it never answered. */
interface Said {
  readonly ask: CarrierAsk
  readonly at_ms: number
  readonly reply: CarrierReply
}

const maxPolls = 30

/** Plays the engine for one carrier, without a deadline. */
const play = Effect.fnUntraced(function* (carrier: CarrierAdapter, first: CarrierAsk) {
  const { simulation } = carrier
  assert.isDefined(simulation)
  if (simulation === undefined) return null
  let ask: CarrierAsk = { ...first, now: first.asked_at + simulation.latency_ms(first) }
  let reply = yield* carrier.ask(ask)
  if (reply.kind === "unavailable" && reply.retry_after_ms !== undefined) {
    const again = { ...ask, attempt: 2 }
    ask = { ...again, now: ask.now + reply.retry_after_ms + simulation.latency_ms(again) }
    reply = yield* carrier.ask(ask)
  }
  for (let polls = 0; reply.kind === "pending"; polls++) {
    const { callback_after_ms, poll_after_ms, ref } = reply
    if (poll_after_ms === null) {
      if (callback_after_ms === undefined) return null
      ask = { ...ask, now: ask.now + callback_after_ms }
      const heard: { readonly ref: string; readonly reply: CarrierReply } | null =
        (yield* carrier.callback?.(yield* simulation.callback(ask, ref)) ?? Effect.succeed(null)) ?? null
      assert.strictEqual(heard?.ref, ask.idempotency_key)
      if (heard === null) return null
      reply = heard.reply
    } else {
      assert.isTrue(poll_after_ms >= 2_000 && poll_after_ms <= 10_000, `polls after ${poll_after_ms} ms`)
      if (polls >= maxPolls) return null
      ask = { ...ask, now: ask.now + poll_after_ms }
      reply = yield* carrier.poll?.(ask, ref) ?? Effect.succeed(reply)
    }
  }
  return { ask, reply, at_ms: ask.now - requestedAt } satisfies Said
})

const words: { readonly [kind in CarrierReply["kind"]]: string } = {
  offers: "quote",
  declined: "decline",
  question: "question",
  pending: "pending",
  unavailable: "no_answer"
}

const start = (rows: ReadonlyArray<Row>, scenario: string): number =>
  scenario === "waits_in_queue" ? 300 : (rows[1]?.t ?? 1)

const playAll = Effect.fnUntraced(function* (line: StandardLineName, scenario: string, startS: number) {
  const ask = askFor(line, reference[line], { scenario: parse(scenario), asked_at: requestedAt + startS * secondMs })
  const all = carriersOf(yield* carriers, line)
  assert.isAbove(all.length, 1)
  return yield* Effect.forEach(all, (carrier) => Effect.map(play(carrier, ask), (said) => [carrier, said] as const))
})

describe("sandbox scenarios", () => {
  for (const [scenario, byLine] of Object.entries(timelines.scenarios)) {
    if (scenario === "cannot_start") continue
    for (const line of lineNames) {
      const rows: ReadonlyArray<Row> = byLine[line]
      it.effect(`${scenario}: carriers answer as in the published timeline (${line})`, () =>
        Effect.gen(function* () {
          const expected = rows.flatMap(({ note, t }) =>
            [...note.matchAll(/(sbx_\w+):(\w+)/g)].map(([, id, word]) => `${t} ${id} ${word}`)
          )
          const heard = yield* playAll(line, scenario, start(rows, scenario))
          const actual = heard.map(([{ carrier }, said]) => {
            const late = said === null || said.at_ms > (start(rows, scenario) + 59) * secondMs
            return late
              ? `60 ${carrier.id} no_answer`
              : `${said.at_ms / secondMs} ${carrier.id} ${words[said.reply.kind]}`
          })
          assert.deepStrictEqual(actual.toSorted(), expected.toSorted())
        })
      )
    }
  }

  it.effect("late_answer: the last carrier answers after 90 seconds", () =>
    Effect.gen(function* () {
      for (const line of lineNames) {
        const heard = yield* playAll(line, "late_answer", 1)
        assert.strictEqual(heard.at(-1)?.[1]?.at_ms, 90 * secondMs)
        assert.strictEqual(heard.at(-1)?.[1]?.reply.kind, "offers")
      }
    })
  )

  it.effect("quote_expires_soon: offers expire at the time in the published timeline", () =>
    Effect.gen(function* () {
      for (const line of lineNames) {
        const rows: ReadonlyArray<Row> = timelines.scenarios.quote_expires_soon[line]
        const heard = yield* playAll(line, "quote_expires_soon", 1)
        const actual = heard.map(([{ carrier }, said]) => {
          const expiresAt = said?.reply.kind === "offers" ? said.reply.offers[0]?.expires_at : null
          return `${carrier.id} ${(toMillis(expiresAt ?? "1970-01-01T00:00:00.000Z") - requestedAt) / secondMs}`
        })
        const expected = rows.flatMap(({ note, t }) =>
          note.endsWith("expired") ? [`${note.slice(0, note.indexOf(" "))} ${t}`] : []
        )
        assert.deepStrictEqual(actual, expected)
      }
    })
  )

  it.effect("price_update and quote_withdrawn: only the first offer changes, 600 seconds after the start", () =>
    Effect.gen(function* () {
      for (const line of lineNames) {
        for (const scenario of ["price_update", "quote_withdrawn"]) {
          const heard = yield* playAll(line, scenario, 1)
          for (const [index, [carrier, said]] of heard.entries()) {
            const offer = said?.reply.kind === "offers" ? said.reply.offers[0] : undefined
            if (offer === undefined || said === null) return assert.fail("no offer")
            if (index > 0) {
              assert.isUndefined(offer.refresh_after_ms)
              continue
            }
            assert.strictEqual(said.at_ms + (offer.refresh_after_ms ?? 0), 600 * secondMs)
            const now = requestedAt + 600 * secondMs
            const changed = yield* carrier.refresh?.({ ...said.ask, now }, offer.offer_ref) ?? Effect.die("no refresh")
            if (scenario === "quote_withdrawn") {
              assert.deepStrictEqual(changed, { kind: "withdrawn" })
              continue
            }
            assert.isTrue(changed.kind === "offer" && changed.reason === "price_updated")
            if (changed.kind !== "offer") continue
            const before = offer.premium?.amount_minor ?? 0
            assert.strictEqual(changed.offer.premium?.amount_minor, Math.floor((before * 10_450 + 5_000) / 10_000))
            assert.strictEqual(changed.offer.expires_at, offer.expires_at)
          }
        }
      }
    })
  )

  it.effect("price_unknown and expiry_unknown: unknown values are null", () =>
    Effect.gen(function* () {
      for (const line of lineNames) {
        for (const [index, [, said]] of (yield* playAll(line, "price_unknown", 1)).entries()) {
          const offer = said?.reply.kind === "offers" ? said.reply.offers[0] : undefined
          const known = [offer?.premium, offer?.term_months, offer?.billing_cycle, offer?.handoff_url]
          assert.deepStrictEqual(
            known.map((value) => value === null),
            known.map(() => index === 0)
          )
        }
        for (const [, said] of yield* playAll(line, "expiry_unknown", 1)) {
          assert.isTrue(said?.reply.kind === "offers" && said.reply.offers[0]?.expires_at === null)
        }
      }
    })
  )

  it.effect("unknown_values: offers have an undocumented action, fee, reason and field", () =>
    Effect.gen(function* () {
      for (const [, said] of yield* playAll("pet", "unknown_values", 1)) {
        const offer = said?.reply.kind === "offers" ? said.reply.offers[0] : undefined
        assert.deepStrictEqual(Object.keys(offer?.extra_actions?.[0] ?? {}), [
          "type",
          "resource",
          "id",
          "sandbox_unlisted_field"
        ])
        assert.strictEqual(offer?.fees.at(-1)?.code, "sandbox_unlisted_fee")
        assert.strictEqual(offer?.reason, "sandbox_unlisted_reason")
      }
    })
  )
})

describe("the scenario catalog", () => {
  it("lists all 24 scenarios, including every scenario that has a timeline", () => {
    const names = catalogue.scenarios.map((scenario) => scenario.name)
    assert.lengthOf(new Set(names), 24)
    assert.strictEqual(catalogue.scenario_catalog_version, timelines.catalog_version)
    for (const name of Object.keys(timelines.scenarios)) assert.include(names, name)
  })
})
