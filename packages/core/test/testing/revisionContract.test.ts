import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import fc from "fast-check"
import * as Revision from "../../src/calls/Revision.ts"
import * as RevisionContract from "../../src/testing/RevisionContract.ts"
import { two } from "../calls/inventedRevision.ts"

const options = { storage: MemoryStorage.layer }

/** Two revisions, of which the older has a difference. */
const served = (difference: Partial<Revision.Difference>): Revision.Served => [
  { date: "2027-01-15", differences: [] },
  { date: "2026-09-26", differences: [{ summary: "Invented.", ...difference }] }
]

/** The messages of the cases that fail. */
const brokenBy = async (revisions: Revision.Served): Promise<ReadonlyArray<string>> => {
  const messages: Array<string> = []
  for (const { run } of RevisionContract.cases(revisions, options)) {
    await run().catch((error: Error) => messages.push(error.message))
  }
  return messages
}

describe("the revision contract", () => {
  for (const { name, run } of RevisionContract.cases(two, options)) it(`holds: ${name}`, run)

  it("holds for renames of several fields, even if two fields swap names", async () => {
    const difference = Revision.renames({
      summary: "Everything had another name.",
      quote: { price: "cost", source: "origin" },
      quote_request: { carriers: "insurers" },
      event: { line: "product", environment: "line" },
      inputs: { start_quote_request: { line: "product", consent_receipt_id: "paper" } }
    })
    assert.deepStrictEqual(await brokenBy(served(difference)), [])
  })

  const start = (upgrade: (input: Revision.Fields) => Revision.Fields, path = (newer: string) => newer) =>
    served({ inputs: { start_quote_request: { upgrade, path } } })
  const swap = Revision.renamedInput("paper", "consent_receipt_id")

  it("rejects revisions in the wrong order, and differences for an unknown operation", async () => {
    const [newest, older] = served({ answers: { get_qoute: (answer) => answer } })
    const messages = await brokenBy([newest, { date: "2028-02-30", differences: older?.differences ?? [] }])
    assert.include(messages[0], "1.date: Must be a date")
    assert.include(messages[0], "list the newest revision first")
    assert.include(messages[1], "get_qoute")
  })

  it("rejects an upgrade that refuses the revision's own field names or accepts newer names", async () => {
    const refusing = await brokenBy(start((input) => input, swap.path))
    assert.isTrue(refusing.some((message) => message.includes("make upgrade accept")))
    const both = (input: Revision.Fields): Revision.Fields => ("paper" in input ? swap.upgrade(input) : input)
    const lenient = await brokenBy(start(both, swap.path))
    assert.deepStrictEqual(lenient, [
      "consent_receipt_id is accepted besides paper: make upgrade leave consent_receipt_id unknown."
    ])
  })

  it("rejects paths that callers do not send, and upgrades that drop unknown fields", async () => {
    const misnamed = await brokenBy(start(swap.upgrade))
    assert.isTrue(misnamed.length > 0)
    const dropping = await brokenBy(
      start(({ application, consent_receipt_id, line, request_key }) => ({
        application,
        consent_receipt_id,
        line,
        request_key
      }))
    )
    assert.deepStrictEqual(dropping, ["upgrade drops or renames fields that it does not know."])
  })

  it("rejects events, quotes and quote requests that lose their identifying fields", async () => {
    const hidden = ({ id: _, ...rest }: Revision.Fields): Revision.Fields => rest
    const messages = await brokenBy(served({ event: hidden, quote: hidden, quote_request: hidden }))
    assert.strictEqual(messages.length, 1)
    for (const kind of ["quote_request", "quote", "event"]) assert.include(messages[0], `${kind} changes id`)
  })

  it("rejects renaming a field to a name that is in use, whichever field it is", async () => {
    const names = ["price", "source", "coverage", "availability", "next_actions", "evidence"]
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(names, { minLength: 2, maxLength: 2 }), async ([newer = "", taken = ""]) => {
        const messages = await brokenBy(served(Revision.renames({ summary: "Clash.", quote: { [newer]: taken } })))
        assert.lengthOf(messages, 1)
        assert.include(messages[0], "quote has fewer fields")
      }),
      { numRuns: 10 }
    )
  })
})
