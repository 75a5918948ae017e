import { Caller, type Carrier } from "@quotewire/core"
import type { CarrierContract } from "@quotewire/core/testing"
import { Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import * as ConnectionInput from "../carriers/ConnectionInput.ts"
import * as JsonFile from "../carriers/JsonFile.ts"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import { word } from "../settings/Settings.ts"

/*
 * The input for trying out a carrier: applications, and the values of the carrier's connection.
 */

/** The file with the applications. */
export const facts = Flag.String("facts").pipe(
  Flag.optional,
  Flag.withDescription("JSON file with an application for each line; by default each line's example")
)

/** The environment in which the carrier is asked. */
export const environment = word("environment", Caller.Environment.literals, "Environment to ask in").pipe(Flag.optional)

/** Reads the applications, by insurance line. Empty if no file is given. */
export const factsOf = (file: Option.Option<string>) =>
  Option.match(file, {
    onNone: () => Effect.succeed({}),
    onSome: (name) =>
      Effect.flatMap(JsonFile.read(name, "--facts"), (json) =>
        Effect.mapError(
          Schema.decodeUnknownEffect(ByLine)(json),
          () =>
            new CommandFailed({
              message:
                "The file in --facts must contain a JSON object with each insurance line's facts under the line's name."
            })
        )
      )
  })

const ByLine = Schema.Record(Schema.String, Schema.Unknown)

/**
 * Reads the connection values of a carrier that needs a connection. With a cassette, values may be missing, and
 * standard input is not read. Otherwise a test that needs no values would wait for input.
 */
export const connectionOf = Effect.fnUntraced(function* (
  { connection }: Carrier.CarrierAdapter,
  hasCassette: boolean
): Effect.fn.Return<CarrierContract.Options, CommandFailed, Effect.Services<ReturnType<typeof ConnectionInput.read>>> {
  if (connection === undefined) return {}
  const names = Object.keys(connection)
  const values = yield* hasCassette ? ConnectionInput.fromVariables(names) : ConnectionInput.read(names)
  const read = yield* Effect.mapError(
    Schema.decodeUnknownEffect(Values)(values),
    () =>
      new CommandFailed({
        message: `The connection must be an object whose values are all strings. Its fields are ${names.join(", ")}.`
      })
  )
  const missingNames = names.filter((name) => read[name] === undefined)
  if (missingNames.length > 0 && !hasCassette) {
    const variables = missingNames.map(ConnectionInput.variable).join(", ")
    return yield* new CommandFailed({
      message: `The connection lacks ${missingNames.join(", ")}. Set ${variables}, or pass all values of the connection on standard input.`
    })
  }
  return { connection: read }
})

const Values = Schema.Record(Schema.String, Schema.String)

/** Fails if there are several carriers and at least one of them needs a connection. */
export const expectOneConnection = (carriers: ReadonlyArray<Carrier.CarrierAdapter>) =>
  carriers.length > 1 && carriers.some(({ connection }) => connection !== undefined)
    ? Effect.fail(
        new WrongUsage({
          message: "A carrier needs a connection, so only one carrier can run. Choose the carrier with --carrier."
        })
      )
    : Effect.void
