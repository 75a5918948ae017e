import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as operations from "../../src/operations.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import { Timelines } from "../../src/timeline/Timelines.ts"
import type { ApiError } from "../../src/wire/ApiError.ts"
import {
  agreed,
  feed,
  keyless,
  list,
  noKey,
  pathsOf,
  refusal,
  start,
  startOf,
  startWith,
  testInWorld
} from "../support/world.ts"

interface Consent {
  readonly says: string
  readonly send: object
  readonly paths: ReadonlyArray<string>
  readonly line?: "personal_auto"
}

const consents: ReadonlyArray<Consent> = [
  { says: "requires a receipt", send: { consent_receipt_id: undefined }, paths: ["consent_receipt_id"] },
  {
    says: "requires a receipt of at least 8 characters",
    send: { consent_receipt_id: "receipt" },
    paths: ["consent_receipt_id"]
  },
  {
    says: "requires a receipt of at most 128 characters",
    send: { consent_receipt_id: "r".repeat(129) },
    paths: ["consent_receipt_id"]
  },
  {
    says: "requires a receipt that starts with a letter or digit",
    send: { consent_receipt_id: "-receipt1" },
    paths: ["consent_receipt_id"]
  },
  {
    says: "is rejected if two fields contain the same receipt",
    line: "personal_auto",
    send: { credit_disclosure_receipt_id: "receipt-0001" },
    paths: ["consent_receipt_id", "credit_disclosure_receipt_id"]
  },
  {
    says: "is rejected if three fields contain the same receipt",
    line: "personal_auto",
    send: {
      credit_disclosure_receipt_id: "receipt-0001",
      contact_consent: { receipt_id: "receipt-0001", channels: ["email"] }
    },
    paths: ["consent_receipt_id", "credit_disclosure_receipt_id", "contact_consent.receipt_id"]
  },
  {
    says: "may include a credit disclosure receipt only for car insurance",
    send: { credit_disclosure_receipt_id: "receipt-0002" },
    paths: ["credit_disclosure_receipt_id"]
  },
  {
    says: "is rejected if a contact channel lacks consent, and the error names the channel",
    send: {
      contact_consent: { receipt_id: "receipt-0003", channels: ["email"] },
      contact_channels: { email: true, sms: true, phone: false }
    },
    paths: ["contact_channels.sms"]
  },
  {
    says: "is required if contact channels are given",
    send: { contact_channels: { email: false } },
    paths: ["contact_channels"]
  },
  {
    says: "allows only the three known contact channels",
    send: { contact_consent: { receipt_id: "receipt-0003", channels: ["fax"] } },
    paths: ["contact_consent.channels.0"]
  },
  {
    says: "requires a list of contact channels",
    send: { contact_consent: { receipt_id: "receipt-0003", channels: "sms" } },
    paths: ["contact_consent.channels"]
  },
  {
    says: "requires each contact channel to be true or false",
    send: { contact_consent: { receipt_id: "receipt-0003", channels: ["sms"] }, contact_channels: { sms: "true" } },
    paths: ["contact_channels.sms"]
  },
  {
    says: "cannot be given by accepting the quote disclosure if the caller has a key",
    send: { quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true },
    paths: ["quote_disclosure_version", "quote_disclosure_accepted"]
  }
]

/** A refusal about consent names what is wrong, but never what to send instead. */
const asksThePerson = (error: ApiError): void => {
  assert.strictEqual(error.retry_action, "none")
  assert.match(error.message, /ask the person/)
  const text = JSON.stringify(error.field_errors)
  assert.notMatch(text, /allowed_values|2026-|must be|true|required|letters|digits|send/i)
}

describe("consent in a start call", () => {
  for (const { line, paths, says, send } of consents) {
    testInWorld(
      says,
      Effect.gen(function* () {
        const input = JSON.parse(JSON.stringify({ ...startOf(line === undefined ? {} : { line }), ...send }))
        const error = yield* refusal(startWith(input))
        assert.strictEqual(error._tag, "invalid_input")
        assert.deepStrictEqual(pathsOf(error), paths)
        asksThePerson(error)
        assert.lengthOf(yield* feed(), 0)
      })
    )
  }

  testInWorld(
    "is accepted as one receipt per kind of consent, and receipts can be reused",
    Effect.gen(function* () {
      const all = {
        line: "personal_auto",
        credit_disclosure_receipt_id: "receipt-0002",
        contact_consent: { receipt_id: "receipt-0003", channels: ["email", "sms"] },
        contact_channels: { email: true, phone: false }
      } as const
      yield* start(all)
      yield* start(all)
      assert.lengthOf((yield* list()).quote_requests, 2)
    })
  )

  testInWorld(
    "can be given in a call without a key, for which the service issues the receipt",
    keyless(
      Effect.gen(function* () {
        const input = agreed()
        const started = yield* startWith(input, noKey)
        const { text_sha256, ...consent } = started.quote_consent ?? assert.fail("no consent")
        assert.match(consent.receipt_id, /^crc_/)
        assert.match(text_sha256, /^[0-9a-f]{64}$/)
        assert.deepInclude(consent, {
          kind: "quote_disclosure",
          recorded_by: "service",
          line: "renters",
          disclosure_version: "2026-09-26",
          accepted_at: "2026-11-20T12:00:00.000Z"
        })
        assert.deepStrictEqual(yield* startWith(input, noKey), started)
        const { call } = yield* World
        const shown = yield* call(operations.getCapabilities, { line: "renters" }, noKey)
        assert.nestedInclude(shown, {
          "quote_disclosure.text_sha256": text_sha256,
          "quote_disclosure.version": consent.disclosure_version
        })
        assert.notProperty(yield* call(operations.getCapabilities, { line: "renters" }), "quote_disclosure")
        assert.isUndefined((yield* start()).quote_consent)
      })
    )
  )

  testInWorld(
    "appears in the timeline with the way in which the person was asked",
    keyless(
      Effect.gen(function* () {
        const timelines = yield* Timelines
        const recorded = Effect.fnUntraced(function* (options: CallOptions, request_key: string) {
          const { id, quote_consent } = yield* startWith(agreed({ request_key }), { ...noKey, ...options })
          const { entries } = yield* timelines.read(id)
          const found = entries.flatMap((entry) => (entry.what === "consent" ? [entry.details] : []))
          assert.deepStrictEqual(found, [quote_consent ?? assert.fail("no consent")])
          return found[0]?.asked_by
        })
        assert.strictEqual(yield* recorded({}, "0b6d7f6e-3c1f-4f0e-9a53-0a8f0f6f2a12"), "argument")
        assert.strictEqual(yield* recorded({ person: "agreed" }, "0b6d7f6e-3c1f-4f0e-9a53-0a8f0f6f2a13"), "elicitation")
      })
    )
  )

  testInWorld(
    "is requested from the person only if no other field is wrong or missing",
    keyless(
      Effect.gen(function* () {
        const pending = { ...noKey, person: "pending" } as const
        const incomplete = yield* refusal(startWith({ ...agreed(), application: {} }, pending))
        assert.strictEqual(incomplete._tag, "needs_information")
        const input = agreed()
        const asked = yield* refusal(startWith(input, pending))
        assert.deepStrictEqual([asked.retry_action, pathsOf(asked)], ["none", ["quote_disclosure_accepted"]])
        assert.lengthOf((yield* list()).quote_requests, 0)
        const started = yield* startWith(input, { ...noKey, person: "agreed" })
        assert.strictEqual((yield* startWith(input, pending)).id, started.id)
      })
    )
  )

  testInWorld(
    "cannot be given in a retry of a start call after the person has declined",
    keyless(
      Effect.gen(function* () {
        const input = agreed()
        for (const person of ["declined", "pending", "agreed", undefined] as const) {
          const refused = yield* refusal(startWith(input, { ...noKey, ...(person && { person }) }))
          assert.strictEqual(refused.retry_action, "none")
          assert.include(refused.message, "declined")
        }
        assert.lengthOf((yield* list()).quote_requests, 0)
      })
    )
  )

  const withoutKey: ReadonlyArray<readonly [string, object, ReadonlyArray<string>]> = [
    ["the person must agree", { quote_disclosure_accepted: false }, ["quote_disclosure_accepted"]],
    ["a missing answer is not agreement", { quote_disclosure_accepted: undefined }, ["quote_disclosure_accepted"]],
    [
      "the version must be the served version",
      { quote_disclosure_version: "2020-01-01" },
      ["quote_disclosure_version"]
    ],
    ["the version is required", { quote_disclosure_version: undefined }, ["quote_disclosure_version"]],
    ["the request_key must be a UUID", { request_key: "key-1" }, ["request_key"]],
    [
      "receipts are not accepted",
      { consent_receipt_id: "receipt-0001", contact_consent: { receipt_id: "receipt-0002", channels: [] } },
      ["consent_receipt_id", "contact_consent"]
    ]
  ]
  for (const [says, changes, paths] of withoutKey) {
    testInWorld(
      `is checked if the caller has no key: ${says}`,
      keyless(
        Effect.gen(function* () {
          const error = yield* refusal(startWith(JSON.parse(JSON.stringify(agreed(changes))), noKey))
          assert.strictEqual(error._tag, "invalid_input")
          assert.sameMembers([...pathsOf(error)], [...paths])
          if (says !== "the request_key must be a UUID") asksThePerson(error)
          else assert.strictEqual(error.retry_action, "correct_input")
        })
      )
    )
  }

  const forms: ReadonlyArray<object> = [
    { quote_disclosure_accepted: "yes" },
    { quote_disclosure_accepted: null },
    { quote_disclosure_version: 7 },
    { quote_disclosure_version: null, quote_disclosure_accepted: 1 },
    { contact_consent: { channels: ["email"] } },
    { contact_consent: { receipt_id: 7, channels: ["email"] } },
    { contact_consent: "yes" },
    { consent_receipt_id: 7 },
    { consent_receipt_id: null }
  ]
  for (const sent of forms) {
    testInWorld(
      `must be requested from the person again if the fields are malformed: ${JSON.stringify(sent)}`,
      Effect.gen(function* () {
        asksThePerson(yield* refusal(startWith({ ...startOf(), ...sent })))
      })
    )
  }

  testInWorld(
    "is reported before thousands of other wrong fields",
    keyless(
      Effect.gen(function* () {
        const surprises = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`surprise_${i}`, i]))
        const input = agreed({ quote_disclosure_version: "2020-01-01", quote_disclosure_accepted: "yes", ...surprises })
        const error = yield* refusal(startWith(input, noKey))
        assert.strictEqual(error.retry_action, "none")
        assert.sameMembers(pathsOf(error).slice(0, 2), ["quote_disclosure_version", "quote_disclosure_accepted"])
        assert.lengthOf(pathsOf(error), 101)
        assert.strictEqual(error.field_errors?.at(-1)?.message, "… and 2,902 more wrong fields.")
      })
    )
  )

  testInWorld(
    "is reported together with the other wrong fields if it is missing",
    Effect.gen(function* () {
      const error = yield* refusal(startWith({ ...startOf(), consent_receipt_id: undefined, surprise: 1 }))
      assert.sameMembers([...pathsOf(error)], ["consent_receipt_id", "surprise"])
      assert.strictEqual(error.retry_action, "none")
    })
  )
})
