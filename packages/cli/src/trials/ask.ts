import { randomUUID } from "node:crypto"
import { CarrierContract } from "@quotewire/core/testing"
import { Effect, Option, Result } from "effect"
import { Command, Flag } from "effect/cli"
import * as CarrierFile from "../carriers/CarrierFile.ts"
import * as CarrierText from "../carriers/CarrierText.ts"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json } from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"
import * as Recording from "./Recording.ts"
import * as Trial from "./Trial.ts"

const lineFlag = Flag.String("line").pipe(
  Flag.withDescription("Insurance line; by default the carrier's only line"),
  Flag.optional
)

const lineOf = (setting: Option.Option<string>, served: ReadonlyArray<string>) => {
  const [only, ...others] = served
  const name = Option.getOrElse(setting, () => (others.length === 0 ? only : undefined))
  if (name !== undefined && served.includes(name)) return Effect.succeed(name)
  return Effect.fail(new WrongUsage({ message: `--line must be one of ${served.join(", ")}.` }))
}

const linesOf = ({ answer, duration_ms, http, http_left_out }: CarrierContract.Asked): ReadonlyArray<string> => {
  const [first, ...more] = Result.match(answer, {
    onSuccess: CarrierText.reply,
    onFailure: ({ message }) => ["no usable answer", ...message.split("\n")]
  })
  return [
    `${first} in ${duration_ms} ms`,
    ...more,
    ...http.flatMap(CarrierText.http),
    ...(http_left_out === 0 ? [] : [`and ${http_left_out} more HTTP exchanges`])
  ]
}

const cassetteFlag = Recording.cassetteFlag("File that --record writes")

const recordFlag = Recording.recordFlag(
  "Record the carrier's answers in --cassette if the reply is usable, without secrets or redacted values"
)

interface RecordSettings {
  readonly cassette: Option.Option<string>
  readonly record: boolean
}

/** The cassette file to write; null without `--record`. */
const fileOf = ({ cassette, record }: RecordSettings) =>
  record === Option.isSome(cassette)
    ? Effect.succeed(Option.getOrNull(cassette))
    : Effect.fail(
        new WrongUsage({ message: "Use --record and --cassette together: --cassette names the file to write." })
      )

/** Describes why there is no usable answer. */
const failureOf = ({ answer, http }: CarrierContract.Asked): string =>
  Result.match(answer, {
    onSuccess: (reply) => CarrierText.noAnswer(reply.kind === "unavailable" ? reply.reason : reply.kind, http),
    onFailure: () => "The adapter's answer is not valid."
  })

const isUsable = ({ answer }: CarrierContract.Asked): boolean =>
  Result.isSuccess(answer) && answer.success.kind !== "unavailable"

/** `quotewire carriers ask` asks a carrier once and shows the carrier's answer. */
export const ask = Command.make(
  "ask",
  reportAllErrors({
    file: CarrierFile.fileArgument,
    carrier: CarrierFile.carrierFlag("required if the file has several carriers"),
    line: lineFlag,
    facts: Trial.facts,
    environment: Trial.environment,
    cassette: cassetteFlag,
    record: recordFlag,
    json
  }),
  (settings) =>
    Effect.gen(function* () {
      const file = yield* fileOf(settings)
      const config = yield* CarrierFile.load(settings.file)
      const adapter = yield* CarrierFile.one(config, Option.getOrUndefined(settings.carrier))
      const line = yield* lineOf(settings.line, Object.keys(adapter.lines))
      const facts = new Map(Object.entries(yield* Trial.factsOf(settings.facts))).get(line)
      const connection = yield* Trial.connectionOf(adapter, false)
      const options = {
        ...(config.lines !== undefined && { lines: config.lines }),
        ...(Option.isSome(settings.environment) && { environment: settings.environment.value }),
        key: randomUUID()
      }
      const asking = CarrierContract.ask(adapter, line, facts, { ...connection, ...options }).pipe(
        Effect.mapError(({ message }) => new CommandFailed({ message }))
      )
      const recorded =
        file === null
          ? asking
          : Recording.recorded(asking, {
              adapter,
              connection: connection.connection,
              file,
              isGood: isUsable,
              replay: (cassette) => [CarrierContract.replay(adapter, line, facts, { ...options, cassette })]
            })
      const trial = yield* recorded.pipe(Effect.provide(CarrierFile.transport(config)))
      const { answer, ...exchanged } = trial
      const reply = Result.getOrNull(answer)
      if (settings.json) {
        const error = Result.match(answer, { onSuccess: () => null, onFailure: ({ message }) => message })
        yield* Output.json({ reply, error, ...exchanged })
      } else yield* Output.lines(linesOf(trial))
      if (!isUsable(trial)) {
        const unwritten = file === null ? "" : " No cassette was written."
        return yield* new CommandFailed({
          message: CarrierText.printable(`${failureOf(trial)}${unwritten}`)
        })
      }
    })
).pipe(Command.withDescription("Ask a carrier once, and show its answer and the redacted HTTP exchanges"))
