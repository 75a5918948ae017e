import { Brand, Clock, Context, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"

/**
 * The prefix of each kind of identifier (api.md, Identifiers).
 *
 * After the prefix comes a ULID in lower case: 26 characters of Crockford's base 32, of which 10 encode the time and 16
 * are random.
 */
export const prefixes = {
  application: "app",
  audit_entry: "aud",
  event: "evt",
  exchange: "exc",
  feedback: "fb",
  key: "key",
  operator_token: "opt",
  organization: "org",
  quote: "qt",
  quote_request: "qreq",
  receipt: "crc",
  recovery: "rcv",
  replay: "rpl",
  request: "req",
  subscription: "sub",
  workspace: "wks"
} as const

/** The beginning of a test event's identifier. It replaces the prefix and the underscore (api.md, Identifiers). */
const testEvent = "evt_test"

const beginsWith = (start: string) =>
  Schema.String.check(
    Schema.isPattern(new RegExp(`^${start}[0-9a-hjkmnp-tv-z]{26}$`, "u"), { expected: `an identifier, ${start}…` })
  )
const prefixed = (prefix: string) => beginsWith(`${prefix}_`)

/** Identifier of an application, `app_…`. All versions of the application share it. */
export const ApplicationId = prefixed(prefixes.application).pipe(Schema.brand("ApplicationId"))
export type ApplicationId = typeof ApplicationId.Type
/** Identifier of an entry in the operators' audit log, `aud_…`. */
export const AuditEntryId = prefixed(prefixes.audit_entry).pipe(Schema.brand("AuditEntryId"))
export type AuditEntryId = typeof AuditEntryId.Type
/** Identifier of an event, `evt_…`. */
export const EventId = prefixed(prefixes.event).pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type
/** Identifier of a recorded exchange with a carrier, `exc_…`. */
export const ExchangeId = prefixed(prefixes.exchange).pipe(Schema.brand("ExchangeId"))
export type ExchangeId = typeof ExchangeId.Type
/** Identifier of a report about the API, `fb_…`. */
export const FeedbackId = prefixed(prefixes.feedback).pipe(Schema.brand("FeedbackId"))
export type FeedbackId = typeof FeedbackId.Type
/** Identifier of an API key, `key_…`; never the key itself. */
export const KeyId = prefixed(prefixes.key).pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type
/** Identifier of an operator's token, `opt_…`; never the token itself. */
export const OperatorTokenId = prefixed(prefixes.operator_token).pipe(Schema.brand("OperatorTokenId"))
export type OperatorTokenId = typeof OperatorTokenId.Type
/** Identifier of an organization, `org_…`. */
export const OrganizationId = prefixed(prefixes.organization).pipe(Schema.brand("OrganizationId"))
export type OrganizationId = typeof OrganizationId.Type
/** Identifier of a quote, `qt_…`. */
export const QuoteId = prefixed(prefixes.quote).pipe(Schema.brand("QuoteId"))
export type QuoteId = typeof QuoteId.Type
/** Identifier of a quote request, `qreq_…`. */
export const QuoteRequestId = prefixed(prefixes.quote_request).pipe(Schema.brand("QuoteRequestId"))
export type QuoteRequestId = typeof QuoteRequestId.Type
/** Identifier of one call, `req_…`. */
export const RequestId = prefixed(prefixes.request).pipe(Schema.brand("RequestId"))
export type RequestId = typeof RequestId.Type
/** Identifier of a consent receipt that the service itself records, `crc_…`. */
export const ReceiptId = prefixed(prefixes.receipt).pipe(Schema.brand("ReceiptId"))
export type ReceiptId = typeof ReceiptId.Type
/** Identifier of a recovery of deliveries, `rcv_…`. */
export const RecoveryId = prefixed(prefixes.recovery).pipe(Schema.brand("RecoveryId"))
export type RecoveryId = typeof RecoveryId.Type
/** Identifier of a sandbox's replay, `rpl_…`. */
export const ReplayId = prefixed(prefixes.replay).pipe(Schema.brand("ReplayId"))
export type ReplayId = typeof ReplayId.Type
/** Identifier of an event subscription, `sub_…`. */
export const SubscriptionId = prefixed(prefixes.subscription).pipe(Schema.brand("SubscriptionId"))
export type SubscriptionId = typeof SubscriptionId.Type
/** Identifier of a test event, `evt_test…`. */
export const TestEventId = beginsWith(testEvent).pipe(Schema.brand("TestEventId"))
export type TestEventId = typeof TestEventId.Type
/** Identifier of a workspace, `wks_…`: one organization in one environment. */
export const WorkspaceId = prefixed(prefixes.workspace).pipe(Schema.brand("WorkspaceId"))
export type WorkspaceId = typeof WorkspaceId.Type

/*
 * ULIDs: 26 characters of Crockford's base 32, here in lower case. The first 10 encode the time, and the others are
 * random.
 *
 * Effect can make ULIDs too, but it runs a fiber for each ULID (docs/decisions/tuning.md).
 */

const alphabet = Array.from("0123456789abcdefghjkmnpqrstvwxyz", (character) => character.charCodeAt(0))
const timeDigits = 10
const randomDigits = 16
/** How many times one block of random bytes provides new random digits. Each millisecond needs new digits. */
const blockDraws = 32
const maxTime = 2 ** 48 - 1

/**
 * Makes a generator in which each ULID sorts after the previous one. Within one millisecond, or if the clock is set
 * back, it adds 1 to the previous ULID.
 */
const monotonic: Effect.Effect<() => string, never, SecureRandom.SecureRandom> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const random = yield* SecureRandom.SecureRandom
  /** The characters of the last ULID: their indexes in the alphabet, and their character codes. */
  const digits = new Uint8Array(timeDigits + randomDigits)
  const codes = Array.from(digits, () => 0)
  let last = -1
  /** The block of random bytes, and where its unused bytes begin. */
  let block: Uint8Array = new Uint8Array(0)
  let unused = 0

  const set = (position: number, digit: number): void => {
    digits[position] = digit
    codes[position] = alphabet[digit] ?? 0
  }

  const startAt = (millis: number): void => {
    last = millis
    for (let at = 0; at < timeDigits; at++) set(at, Math.floor(millis / 32 ** (timeDigits - 1 - at)) % 32)
    if (unused === block.length) {
      block = Effect.runSync(random.randomBytes(blockDraws * randomDigits))
      unused = 0
    }
    for (let at = timeDigits; at < digits.length; at++) set(at, (block[unused++] ?? 0) % 32)
  }

  /** Adds 1 to the random digits. If all of them are at their maximum, continues in the next millisecond. */
  const increment = (): void => {
    for (let at = digits.length - 1; at >= timeDigits; at--) {
      const next = ((digits[at] ?? 0) + 1) % 32
      set(at, next)
      if (next !== 0) return
    }
    startAt(Math.min(last + 1, maxTime))
  }

  return () => {
    const now = Math.min(Math.max(0, Math.trunc(clock.currentTimeMillisUnsafe())), maxTime)
    if (now > last) startAt(now)
    else increment()
    return String.fromCharCode(...codes)
  }
})

/** Makes the ULID generator. Tests replace it, so that every run gets the same identifiers. */
export const Generator = Context.Reference<typeof monotonic>("@quotewire/core/UlidGenerator", {
  defaultValue: () => monotonic
})

/**
 * Makes identifiers.
 *
 * Identifiers contain the host's real time, and the identifiers made by one process are strictly increasing. Sorting by
 * ID is therefore sorting by creation, even in a sandbox whose clock was moved.
 */
export class Ids extends Context.Service<
  Ids,
  {
    readonly application: () => ApplicationId
    readonly audit_entry: () => AuditEntryId
    readonly event: () => EventId
    readonly exchange: () => ExchangeId
    readonly feedback: () => FeedbackId
    readonly key: () => KeyId
    readonly operator_token: () => OperatorTokenId
    readonly organization: () => OrganizationId
    readonly quote: () => QuoteId
    readonly quote_request: () => QuoteRequestId
    readonly receipt: () => ReceiptId
    readonly recovery: () => RecoveryId
    readonly request: () => RequestId
    readonly subscription: () => SubscriptionId
    readonly replay: () => ReplayId
    readonly test_event: () => TestEventId
    readonly workspace: () => WorkspaceId
  }
>()("@quotewire/core/Ids") {
  /** Makes identifiers from the host's clock and its secure random generator. */
  static readonly layer: Layer.Layer<Ids, never, SecureRandom.SecureRandom> = Layer.effect(
    Ids,
    Effect.gen(function* () {
      const next = yield* yield* Generator
      const make = (prefix: string) => `${prefix}_${next()}`
      return Ids.of({
        application: () => nominal.application(make(prefixes.application)),
        audit_entry: () => nominal.audit_entry(make(prefixes.audit_entry)),
        event: () => nominal.event(make(prefixes.event)),
        exchange: () => nominal.exchange(make(prefixes.exchange)),
        feedback: () => nominal.feedback(make(prefixes.feedback)),
        key: () => nominal.key(make(prefixes.key)),
        operator_token: () => nominal.operator_token(make(prefixes.operator_token)),
        organization: () => nominal.organization(make(prefixes.organization)),
        quote: () => nominal.quote(make(prefixes.quote)),
        quote_request: () => nominal.quote_request(make(prefixes.quote_request)),
        receipt: () => nominal.receipt(make(prefixes.receipt)),
        recovery: () => nominal.recovery(make(prefixes.recovery)),
        request: () => nominal.request(make(prefixes.request)),
        subscription: () => nominal.subscription(make(prefixes.subscription)),
        replay: () => nominal.replay(make(prefixes.replay)),
        test_event: () => nominal.test_event(`${testEvent}${next()}`),
        workspace: () => nominal.workspace(make(prefixes.workspace))
      })
    })
  )
}

// New identifiers are valid, so they are not checked again.
const nominal = {
  application: Brand.nominal<ApplicationId>(),
  audit_entry: Brand.nominal<AuditEntryId>(),
  event: Brand.nominal<EventId>(),
  exchange: Brand.nominal<ExchangeId>(),
  feedback: Brand.nominal<FeedbackId>(),
  key: Brand.nominal<KeyId>(),
  operator_token: Brand.nominal<OperatorTokenId>(),
  organization: Brand.nominal<OrganizationId>(),
  quote: Brand.nominal<QuoteId>(),
  quote_request: Brand.nominal<QuoteRequestId>(),
  receipt: Brand.nominal<ReceiptId>(),
  recovery: Brand.nominal<RecoveryId>(),
  replay: Brand.nominal<ReplayId>(),
  request: Brand.nominal<RequestId>(),
  subscription: Brand.nominal<SubscriptionId>(),
  test_event: Brand.nominal<TestEventId>(),
  workspace: Brand.nominal<WorkspaceId>()
}
