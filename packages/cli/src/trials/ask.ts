import { randomUUID } from "node:crypto"
import { CarrierContract } from "@quotewire/core/testing"
import { Console, Effect, Option, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed, WrongUsage } from "../CommandErrors.ts"
import * as CarrierFile from "../carriers/CarrierFile.ts"
import * as CarrierText from "../carriers/CarrierText.ts"
import { json } from "../Settings.ts"
import * as Trial from "./Trial.ts"

const line = Flag.String("line").pipe(
  Flag.withDescription("Insurance line; by default the carrier's only one"),
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
    onFailure: ({ message }) => ["no answer that could be used", message]
  })
  return [
    `${first} in ${duration_ms} ms`,
    ...more,
    ...http.flatMap(CarrierText.http),
    ...(http_left_out === 0 ? [] : [`and ${http_left_out} more HTTP exchanges`])
  ]
}

/** `quotewire carriers ask`: one ask. */
export const ask = Command.make(
  "ask",
  {
    file: CarrierFile.file,
    carrier: CarrierFile.carrier("required if the file has several carriers"),
    line,
    facts: Trial.facts,
    environment: Trial.environment,
    json
  },
  (settings) =>
    Effect.gen(function* () {
      const config = yield* CarrierFile.load(settings.file)
      const adapter = yield* CarrierFile.one(config, Option.getOrUndefined(settings.carrier))
      const line = yield* lineOf(settings.line, Object.keys(adapter.lines))
      const facts = new Map(Object.entries(yield* Trial.factsOf(settings.facts))).get(line)
      const connection = yield* Trial.connectionOf(adapter, false)
      const asked = yield* CarrierContract.ask(adapter, line, facts, {
        ...connection,
        ...(config.lines !== undefined && { lines: config.lines }),
        ...(Option.isSome(settings.environment) && { environment: settings.environment.value }),
        key: randomUUID()
      }).pipe(
        Effect.mapError(({ message }) => new CommandFailed({ message })),
        Effect.provide(CarrierFile.transport(config))
      )
      const { answer, ...exchanged } = asked
      const reply = Result.getOrNull(answer)
      if (settings.json) {
        const error = Result.match(answer, { onSuccess: () => null, onFailure: ({ message }) => message })
        yield* Console.log(JSON.stringify({ reply, error, ...exchanged }))
      } else yield* Console.log(CarrierText.printable(linesOf(asked).join("\n")))
      if (reply === null || reply.kind === "unavailable") {
        return yield* new CommandFailed({ message: "The carrier has not answered." })
      }
    })
).pipe(Command.withDescription("Ask a carrier once, and show its answer and what was exchanged, redacted"))
