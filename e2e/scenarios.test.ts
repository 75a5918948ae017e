import { assert, describe } from "@effect/vitest"
import { lineNames, type StandardLineName } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { Effect } from "effect"
import timelines from "../packages/core/test/scenarios.json" with { type: "json" }
import { Host } from "./host.ts"
import { onEveryHost } from "./hosts.ts"
import type { Keys } from "./support/Call.ts"

type Scenario = keyof typeof timelines.scenarios

const scenarios = Object.keys(timelines.scenarios).filter((name): name is Scenario => name in timelines.scenarios)

/** The line that represents all lines if a table is not run in full. */
const one: ReadonlyArray<StandardLineName> = ["renters"]

/** The feed as the catalogue writes it: seconds since the start, and each event with its version. */
const timelineOf = Effect.fnUntraced(function* (keys: Keys, createdAt: string) {
  const host = yield* Host
  const feed = yield* host.call(keys, "list_events", { limit: 100 })
  const rows = new Map<number, Array<string>>()
  for (const event of feed.body.events) {
    const t = (Date.parse(event.occurred_at) - Date.parse(createdAt)) / 1_000
    const { type, id, version } = event.resource
    const quote = type === "quote" ? (yield* host.call(keys, "get_quote", { id })).body : null
    const name = quote === null ? "" : `(${quote.source.carrier.id})`
    rows.set(t, [...(rows.get(t) ?? []), `${event.type}${name}#${version}`])
  }
  return [...rows].map(([t, events]) => ({ t, events }))
})

onEveryHost("scenarios", (it, { whole }) => {
  describe.each(scenarios)("the %s scenario", (scenario) => {
    it.effect.each(whole ? lineNames : one)("emits exactly the documented events for %s", (line) =>
      Effect.gen(function* () {
        const host = yield* Host
        const keys = yield* host.newOrganization
        const started = yield* host.call(keys, "start_quote_request", {
          line,
          scenario,
          consent_receipt_id: "receipt-0001",
          request_key: `${scenario}-${line}`,
          application: ExampleApplications.smallest[line]
        })
        assert.strictEqual(started.status, 202)
        const expected = timelines.scenarios[scenario][line]
        let reached = 0
        for (const row of expected) {
          if (row.t > reached) yield* host.call(keys, "advance_time", { seconds: row.t - reached })
          reached = row.t
          const read = yield* host.call(keys, "get_quote_request", { id: started.body.id, wait_seconds: 0 })
          const { version, status, status_details } = read.body.quote_request
          // Real time passes too, so a slow machine may read later events.
          const shown = expected.find(({ t, request_version }) => t >= row.t && request_version === version) ?? row
          assert.deepStrictEqual(
            { t: row.t, version, status, reason: status_details.reason },
            { t: row.t, version: shown.request_version, status: shown.status, reason: shown.reason }
          )
        }
        assert.deepStrictEqual(
          yield* timelineOf(keys, started.body.created_at),
          expected.filter((row) => row.events.length > 0).map(({ t, events }) => ({ t, events }))
        )
      })
    )
  })
})
