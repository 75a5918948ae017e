import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Revision from "../../src/calls/Revision.ts"
import * as ApiError from "../../src/wire/ApiError.ts"
import * as Json from "../../src/wire/Json.ts"
import { invented, newer, older, two } from "./inventedRevision.ts"

/** Three revisions. The oldest differs from the newest by the changes of both later ones. */
const oldest = "2026-01-01"
const three: Revision.Served = [
  ...two,
  {
    date: oldest,
    differences: [
      invented,
      {
        summary: "A quote's proof was its basis, and a consent's paper its sheet.",
        inputs: { start_quote_request: Revision.renamedInput("sheet", "paper") },
        answers: { get_quote: Revision.renamed("basis", "proof") },
        event: Revision.renamed("branch", "product")
      }
    ]
  }
]

const of = (date: string) => three.find((one) => one.date === date) ?? assert.fail(date)
const quote = Json.encode({ id: "qt_1", evidence: { label: "x" }, price: null })

describe("the revision named in a header", () => {
  it("is the served revision with that date", () => {
    for (const { date } of three) assert.deepStrictEqual(Revision.find(three, date), Result.succeed(of(date)))
  })

  it("is refused if it is empty, repeated or not served, with a list of the served revisions", () => {
    for (const wrong of ["", "2020-01-01", `${older}, ${older}`, ` ${older}`, "2026-9-26", "latest"]) {
      const chosen = Revision.find(three, wrong)
      const error = Result.isFailure(chosen) ? chosen.failure : assert.fail(wrong)
      assert.deepStrictEqual([error._tag, error.status], ["invalid_version", 400])
      assert.deepStrictEqual(error.field_errors, [
        { path: "Service-Version", message: "Must be a served revision.", allowed_values: [newer, older, oldest] }
      ])
    }
  })
})

describe("a pinned revision", () => {
  it("is served if available; otherwise the next newer revision is served, or else the newest", () => {
    const served = (pin: string) => Revision.nearest(three, pin).date
    assert.deepStrictEqual([newer, older, oldest].map(served), [newer, older, oldest])
    assert.deepStrictEqual(["2025-12-31", "2026-05-05", "2026-12-31", "2027-06-01"].map(served), [
      oldest,
      older,
      newer,
      newer
    ])
  })
})

describe("a response", () => {
  it("is returned unchanged in the newest revision", () => {
    const odd = Json.fromText<unknown>('{ "evidence" : 1.0 }')
    assert.strictEqual(Revision.answer(of(newer), "get_quote", odd), odd.text)
    assert.strictEqual(Revision.resource(of(newer), "event", odd), odd)
  })

  it("is converted to an older revision by applying each revision's differences one by one", () => {
    const shown = (date: string) => Revision.answer(of(date), "get_quote", quote)
    assert.strictEqual(shown(older), '{"id":"qt_1","proof":{"label":"x"},"price":null}')
    assert.strictEqual(shown(oldest), '{"id":"qt_1","basis":{"label":"x"},"price":null}')
  })

  it("is unchanged for an operation that is the same in both revisions", () => {
    assert.strictEqual(Revision.answer(of(older), "get_sandbox", quote), quote.text)
  })

  it("contains events in the same form as webhooks", () => {
    const event = Json.encode({ id: "evt_1", line: "pet" })
    const carried = Revision.resource(of(oldest), "event", event).text
    assert.strictEqual(carried, '{"id":"evt_1","branch":"pet"}')
    const page = Json.encode({ events: [Json.decode(event), Json.decode(event)], next_cursor: "c" })
    assert.strictEqual(
      Revision.answer(of(oldest), "list_events", page),
      `{"events":[${carried},${carried}],"next_cursor":"c"}`
    )
    const tested = Json.encode({ subscription_id: "sub_1", event: Json.decode(event) })
    assert.strictEqual(
      Revision.answer(of(oldest), "send_test_event", tested),
      `{"subscription_id":"sub_1","event":${carried}}`
    )
  })
})

describe("an input", () => {
  const upgraded = (date: string, input: unknown) => Revision.input(of(date), "start_quote_request", input)

  it("is upgraded to the newest form from any revision", () => {
    assert.deepStrictEqual(upgraded(newer, { consent_receipt_id: "r" }), { consent_receipt_id: "r" })
    assert.deepStrictEqual(upgraded(older, { paper: "r" }), { consent_receipt_id: "r" })
    assert.deepStrictEqual(upgraded(oldest, { sheet: "r" }), { consent_receipt_id: "r" })
  })

  it("cannot set a renamed field by its newer name in an older revision", () => {
    assert.deepStrictEqual(upgraded(older, { consent_receipt_id: "r" }), { paper: "r" })
    assert.deepStrictEqual(upgraded(older, { paper: "p", consent_receipt_id: "r" }), {
      consent_receipt_id: "p",
      paper: "r"
    })
  })

  it("is left for the schema to reject if it is not an object", () => {
    for (const odd of [null, 7, "x", [1]]) assert.deepStrictEqual(upgraded(older, odd), odd)
  })
})

describe("a refusal", () => {
  it("uses the field names of the caller's revision, and names the revision", () => {
    const refused = ApiError.invalidInput([
      { path: "consent_receipt_id", message: "This field is required." },
      { path: "application.line", message: "This field is not known." }
    ])
    const shown = (date: string) => Revision.refusal(of(date), "start_quote_request", refused)
    const paths = (date: string) => shown(date).field_errors?.map(({ path }) => path)
    assert.deepStrictEqual(paths(newer), ["consent_receipt_id", "application.line"])
    assert.deepStrictEqual(paths(older), ["paper", "application.line"])
    assert.deepStrictEqual(paths(oldest), ["sheet", "application.line"])
    const { message, retry_action, revision, status } = shown(oldest)
    assert.deepStrictEqual(
      [message, retry_action, status],
      ['2 fields are not valid: "sheet" and "application.line".', refused.retry_action, 422]
    )
    assert.strictEqual(revision, oldest)
  })
})
