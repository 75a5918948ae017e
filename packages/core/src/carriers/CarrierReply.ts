import { Schema } from "effect"
import { type CarrierReply, declineReasons, silenceReasons } from "../quoting/Carrier.ts"
import { Money } from "../quoting/Money.ts"
import { Timestamp } from "../Timestamp.ts"

const Scalar = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])

const Assumption = Schema.Struct({
  path: Schema.String,
  value: Scalar,
  source: Schema.String,
  label: Schema.optionalKey(Schema.String)
})

const Subject = Schema.Struct({
  subject_id: Schema.String,
  kind: Schema.String,
  label: Schema.NullOr(Schema.String),
  coverages: Schema.Array(
    Schema.Struct({
      code: Schema.String,
      limit: Schema.NullOr(Money),
      deductible: Schema.NullOr(Money),
      included: Schema.NullOr(Schema.Boolean)
    })
  )
})

const Action = Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [Schema.Record(Schema.String, Scalar)])

const Offer = Schema.Struct({
  offer_ref: Schema.String,
  product: Schema.NullOr(Schema.String),
  premium: Schema.NullOr(Money),
  term_months: Schema.NullOr(Schema.Int),
  billing_cycle: Schema.NullOr(Schema.String),
  fees: Schema.Array(Schema.Struct({ code: Schema.String, amount: Money })),
  conditions: Schema.Array(Schema.String),
  subjects: Schema.Array(Subject),
  assumptions: Schema.Array(Assumption),
  expires_at: Schema.NullOr(Timestamp),
  evidence_label: Schema.String,
  handoff_url: Schema.NullOr(Schema.String),
  extra_actions: Schema.optionalKey(Schema.Array(Action)),
  reason: Schema.optionalKey(Schema.String),
  refresh_after_ms: Schema.optionalKey(Schema.Int)
})

const Question = Schema.Struct({
  path: Schema.String,
  label: Schema.String,
  allowed_values: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * A carrier's reply as it travels in a message, such as a callback.
 *
 * It says that the message can be read, not that its offers are good: the engine checks offers of every carrier alike.
 */
export const CarrierReplyJson: Schema.Codec<CarrierReply> = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("offers"), offers: Schema.Array(Offer) }),
  Schema.Struct({ kind: Schema.Literal("declined"), reason: Schema.Literals(declineReasons) }),
  Schema.Struct({
    kind: Schema.Literal("pending"),
    ref: Schema.String,
    poll_after_ms: Schema.NullOr(Schema.Int),
    callback_after_ms: Schema.optionalKey(Schema.Int)
  }),
  Schema.Struct({ kind: Schema.Literal("question"), questions: Schema.Array(Question) }),
  Schema.Struct({
    kind: Schema.Literal("unavailable"),
    reason: Schema.Literals(silenceReasons),
    retry_after_ms: Schema.optionalKey(Schema.Int)
  })
])
