import { Effect } from "effect"
import * as AnswerRules from "../../carriers/AnswerRules.ts"
import { type CarrierAdapter, type CarrierCallback, maxAttemptMs } from "../../carriers/Carrier.ts"
import { broken, type Case, called, expectRead, rule, type Stage } from "./carrierRule.ts"
import type { Options } from "./subject.ts"
import { passing } from "./time.ts"

/** Makes the cases for callbacks; an empty list if the adapter has no `callback`. */
export const cases = (
  stage: Stage,
  { callback }: CarrierAdapter,
  { callback: genuine }: Options
): ReadonlyArray<Case> => {
  if (callback === undefined) return []
  const read = (carrierCallback: CarrierCallback) =>
    passing(called("callback", () => callback(carrierCallback), maxAttemptMs))
  return [
    rule(stage, "refuses callbacks that are not genuine", () =>
      Effect.forEach(
        forged(genuine),
        Effect.fnUntraced(function* ([name, carrierCallback]) {
          if ((yield* read(carrierCallback)) === null) return
          yield* broken(
            `callback accepts ${name}. Verify the signature over the raw bytes, and return null if it does not match.`
          )
        }),
        { discard: true }
      )
    ),
    ...(genuine === undefined
      ? []
      : [
          rule(
            stage,
            "reads a genuine callback",
            Effect.fnUntraced(function* () {
              const answer = yield* read(genuine)
              if (answer === null) return yield* broken("callback must accept the genuine callback in the options.")
              yield* expectRead("callback returned an invalid reply.", AnswerRules.readReply(answer.reply))
            })
          )
        ])
  ]
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Callbacks that are not genuine: unsigned callbacks and, if a genuine callback is given, altered copies of it. */
const forged = (genuine: CarrierCallback | undefined): ReadonlyArray<readonly [string, CarrierCallback]> => [
  ["an empty body", { headers: {}, body: bytes("") }],
  ["a body that is not JSON", { headers: {}, body: bytes("<callback/>") }],
  ["an empty object", { headers: { "content-type": "application/json" }, body: bytes("{}") }],
  ...(genuine === undefined
    ? []
    : [
        ["a genuine body without its headers", { ...genuine, headers: {} }] as const,
        ["a changed body", { ...genuine, body: changed(genuine.body) }] as const
      ])
]

/** The same bytes plus a space. The JSON has the same value, but the signature no longer matches. */
const changed = (body: Uint8Array): Uint8Array => new Uint8Array([...body, 32])
