import { Schema } from "effect"
import { FromText } from "../../src/wire/Money.ts"
import * as FakeCarrier from "../carriers/fakeCarrier.ts"

/* Ways in which calls to carriers fail in tests. */

export const thrown = (error: Error) => () => {
  throw error
}
export const withCode = (code: string) =>
  thrown(new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code }) }))

/**
 * A way in which a call fails; the reason with which a failed poll ends its carrier, or null if it is retried; and
 * the same for an ask.
 */
export type Failing<Call> = readonly [what: string, call: Call, poll: string | null, ask?: string]

export const Priced = Schema.Struct({ premium: FromText })

/** What the carrier's API answers. */
export const answers: ReadonlyArray<Failing<FakeCarrier.Script>> = [
  ["a 400", () => FakeCarrier.status(400), "carrier_error"],
  ["a 401", () => FakeCarrier.status(401), "carrier_error"],
  ["a 404", () => FakeCarrier.status(404), null],
  ["a 302", () => FakeCarrier.status(302, { location: "/elsewhere" }), "carrier_error"],
  ["a 429 without Retry-After", () => FakeCarrier.status(429), null, "rate_limited"],
  ["a 500", () => FakeCarrier.status(500), null],
  ["a 503", () => FakeCarrier.status(503), null],
  ["JSON that does not match the schema", () => FakeCarrier.json({ premium: "1.171,10" }), "unreadable_answer"],
  ["HTML instead of JSON", () => new Response("<p>Sorry</p>"), "unreadable_answer"],
  ["no response because the connection breaks", () => ({ code: "ECONNRESET" }), null],
  ["no response", () => "silence", null],
  ["an expired certificate", () => ({ code: "CERT_HAS_EXPIRED" }), "carrier_error"],
  ["a refusal because the address is not public", () => ({ code: "REFUSED_ADDRESS" }), "carrier_error"]
]
