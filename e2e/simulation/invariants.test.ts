import { assert, describe, it } from "@effect/vitest"
import * as Grounds from "./Grounds.ts"
import * as Invariants from "./Invariants.ts"
import type { Ledger } from "./Ledger.ts"
import type { Reading } from "./Observer.ts"
import { play } from "./play.ts"
import { nameOf } from "./SimulatedCarriers.ts"
import type { Story } from "./Story.ts"
import * as Writer from "./Writer.ts"

/*
 * The ledger of a correct story, falsified in one place: the check of that promise must notice it.
 */

const name = "acme sandbox"
const start = { do: "start", workspace: name, line: "renters", key: "server", copies: 1, lost_answers: 0 } as const
const story: Story = {
  ...Writer.write(1, { requests: 0 }),
  hosts: 1,
  consumes: true,
  has_limits: false,
  busy_ms: 20_000,
  actions: [
    { at: 0, do: "subscribe", subscription: 0, workspace: name, receiver: 0, types: "all" },
    { ...start, at: 1_000, request: 0 },
    { ...start, at: 1_500, request: 1 },
    { at: 8_000, do: "use the spare key", workspace: name },
    { at: 9_000, do: "rotate a key", workspace: name },
    { at: 10_000, do: "erase", request: 1 },
    { at: 15_000, do: "use the spare key", workspace: name }
  ]
}
const ground = Grounds.inMemory()(2)
const played = play(story, ground)
const { ledger } = played
const readings = played.readings ?? assert.fail("Nobody could read")
const reading = readings.get(name) ?? assert.fail("Nobody could read the workspace")
const { workspaces } = ground

const first = <A>(all: ReadonlyArray<A>): A => all[0] ?? assert.fail("the story lacks what the test falsifies")
const event = first(reading.feed)
const accepted = first(ledger.accepted)
const received = first(ledger.received)
const subscribed = first(ledger.subscribed)
const ask = first(ledger.asks)
const last = { at: ledger.ended_at, step: Number.MAX_SAFE_INTEGER }
const never = { at: 0, step: -1 }
const followed = (lists: Ledger["followed"] extends Map<unknown, infer Lists> ? Lists : never) =>
  new Map([...ledger.followed, [name, lists]] as const)

const findingsOf = (changed: Partial<Ledger>, read: Partial<Reading> = {}, told: Partial<Story> = {}) =>
  Invariants.findings(
    { ...story, ...told },
    { ...ledger, ...changed },
    new Map([...readings, [name, { ...reading, ...read }]]),
    workspaces
  )

type Falsified = readonly [finding: RegExp, findings: () => ReadonlyArray<string>]

const ofReadings: { readonly [promise: string]: Falsified } = {
  "the feed has no event twice": [/has an event twice/, () => findingsOf({}, { feed: [...reading.feed, event] })],
  "versions go up by one": [/The versions of/, () => findingsOf({}, { feed: reading.feed.slice(1) })],
  "a request ends once": [/has 0 final events/, () => findingsOf({}, { feed: reading.feed.slice(0, 2) })],
  "a request begins as queued": [
    /does not begin with its queue/,
    () => findingsOf({}, { feed: reading.feed.toReversed() })
  ],
  "a read returns the last version": [
    /which is not the last in the feed/,
    () => findingsOf({}, { feed: reading.feed.slice(0, -1) })
  ],
  "everything stored was accepted": [/Nobody was told of/, () => findingsOf({ accepted: [] })],
  "everything accepted is stored": [/was accepted and is lost/, () => findingsOf({}, { requests: [] })],
  "a key starts one request": [
    /was accepted as/,
    () => findingsOf({ accepted: [...ledger.accepted, { ...accepted, request: 1 }] })
  ],
  "no quote is active after it has expired": [
    /has expired and is active/,
    () =>
      findingsOf(
        {},
        {
          requests: reading.requests.map((request) => ({
            ...request,
            quotes: request.quotes.map((quote) => ({
              ...quote,
              status: "active" as const,
              availability: { expires_at: "2020-01-01T00:00:00.000Z" }
            }))
          }))
        }
      )
  ],
  "a follower sees every event": [/Who followed/, () => findingsOf({ followed: followed([[event]]) })],
  "a follower sees no gap before a cursor expires": [
    /before a cursor expired/,
    () => findingsOf({ followed: followed([reading.feed.toSpliced(1, 1), [...reading.feed]]) })
  ],
  "a consumer gets every event": [/The consumer has skipped/, () => findingsOf({ handled: [] })],
  "a consumer gets events in order": [/in another order/, () => findingsOf({ handled: ledger.handled.toReversed() })]
}

const ofWebhooks: { readonly [promise: string]: Falsified } = {
  "an event reaches each subscription": [/did not reach/, () => findingsOf({ received: [], attempts: new Map() })],
  "an event has the same bytes each time": [
    /The bodies of .* differ/,
    () => findingsOf({ received: [...ledger.received, { ...received, body: `${received.body} ` }] })
  ],
  "each POST carries a stored event": [/which was not stored/, () => findingsOf({ committed: [] })],
  "each POST carries an event from its own workspace": [
    /got evt_\w+ of wks_/,
    () =>
      findingsOf({
        committed: ledger.committed.map((one) => ({ ...one, workspace_id: workspaces["bolt live"].id }))
      })
  ],
  "a subscription gets no event from before its creation": [
    /which was stored before/,
    () => findingsOf({ subscribed: [{ ...subscribed, sent: last, answered: last }] })
  ],
  "a disabled subscription gets nothing": [
    /after it was disabled/,
    () => findingsOf({ subscribed: [{ ...subscribed, disabling: never, disabled: never }] })
  ],
  "a subscription gets only its event types": [
    /which it has not chosen/,
    () => findingsOf({ subscribed: [{ ...subscribed, types: [] }] })
  ],
  "each POST is signed with a current secret": [
    /none of its secrets has signed/,
    () => findingsOf({ subscribed: [{ ...subscribed, secrets: ["whsec_AAAA"] }] })
  ]
}

const ofOthers: { readonly [promise: string]: Falsified } = {
  "a carrier is not asked twice": [
    /was asked 2 times/,
    () => findingsOf({ asks: [1, 2].map(() => ({ ...ask, carrier_id: "naic:90003" as const })) })
  ],
  "a carrier has no more calls in progress than it allows": [
    /room for 2 calls had 3/,
    () => findingsOf({ asks: [1, 2, 3].map((step) => ({ ...ask, carrier_id: "naic:90007" as const, step })) })
  ],
  "a carrier is asked no more often than its rate allows": [
    /was asked 4 times in a minute/,
    () =>
      findingsOf(
        { asks: [1, 2, 3, 4].map((step) => ({ ...ask, carrier_id: "naic:90007" as const, step, ended_at: ask.at })) },
        {},
        { has_limits: true }
      )
  ],
  "an organization starts no more requests than its limit": [
    /made 9 start calls in a minute/,
    () => findingsOf({ accepted: Array.from({ length: 9 }, () => accepted) }, {}, { has_limits: true })
  ],
  "no carrier is asked about an erased person": [
    /after it was erased/,
    () => findingsOf({ asks: [...ledger.asks, { ...ask, request: 1, ...last }] })
  ],
  "a revoked key is refused": [
    /was accepted \d+ ms after it was revoked/,
    () => findingsOf({ keyUses: ledger.keyUses.map((use) => ({ ...use, was_accepted: true })) })
  ],
  "a key works until it is revoked": [
    /was refused before it was revoked/,
    () => findingsOf({ keyUses: ledger.keyUses.map((use) => ({ ...use, was_accepted: false })) })
  ],
  "no stored data names an erased person": [
    /is stored after an erasure/,
    () => Invariants.ofStored(story, ledger, [`"${nameOf(1)}"`])
  ]
}

describe("the simulation's checks", () => {
  it("find no fault in a correct story", () => {
    assert.deepStrictEqual([...played.findings, ...findingsOf({})], [])
  })

  for (const [promise, [finding, findings]] of Object.entries({ ...ofReadings, ...ofWebhooks, ...ofOthers })) {
    it(`detect a violation of the guarantee that ${promise}`, () => {
      assert.isTrue(
        findings().some((found) => finding.test(found)),
        findings().join("\n")
      )
    })
  }
})
