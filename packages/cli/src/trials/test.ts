import type { Carrier } from "@quotewire/core"
import { CarrierContract, Cassette } from "@quotewire/core/testing"
import { Clock, Effect, Option } from "effect"
import { Command } from "effect/cli"
import * as CarrierFile from "../carriers/CarrierFile.ts"
import * as JsonFile from "../carriers/JsonFile.ts"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json } from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"
import * as Recording from "./Recording.ts"
import * as Trial from "./Trial.ts"

const cassetteFlag = Recording.cassetteFlag(
  "File with the carrier's recorded answers, so that nothing is sent. With --record, the file to write"
)

const recordFlag = Recording.recordFlag(
  "Ask the carrier, and record its answers in --cassette if all cases pass, without secrets or redacted values"
)

interface Settings {
  readonly cassette: Option.Option<string>
  readonly record: boolean
}

/** The results of one carrier's test cases. */
interface Tested {
  readonly carrier_id: string
  readonly cases: ReadonlyArray<{
    readonly name: string
    /** Why the test case failed; null if it passed. */
    readonly message: string | null
    readonly duration_ms: number
  }>
}

const run = (adapter: Carrier.CarrierAdapter, cases: ReadonlyArray<CarrierContract.Case>) =>
  Effect.forEach(cases, ({ effect, name }) =>
    Effect.gen(function* () {
      const begunAt = yield* Clock.currentTimeMillis
      const message = yield* Effect.match(effect, {
        onSuccess: () => null,
        onFailure: (broken) => broken.message
      })
      return { name, message, duration_ms: (yield* Clock.currentTimeMillis) - begunAt }
    })
  ).pipe(Effect.map((results): Tested => ({ carrier_id: adapter.carrier.id, cases: results })))

const haveAllPassed = ({ cases }: Tested): boolean => cases.every(({ message }) => message === null)

/** Reads a cassette that the contract tests play back. */
const played = Effect.fnUntraced(function* (file: string) {
  const content = yield* JsonFile.read(file, "--cassette")
  return yield* Effect.try({
    try: () => Cassette.parse(content),
    catch: () => new CommandFailed({ message: "--cassette must be a cassette written by --record." })
  })
})

const tested = Effect.fnUntraced(function* (
  adapter: Carrier.CarrierAdapter,
  facts: CarrierContract.FactsByLine,
  contractOptions: CarrierContract.Options,
  settings: Settings
) {
  const file = Option.getOrNull(settings.cassette)
  const options = { ...contractOptions, ...(yield* Trial.connectionOf(adapter, file !== null && !settings.record)) }
  if (file === null) return yield* run(adapter, CarrierContract.cases(adapter, facts, options))
  if (settings.record) {
    const cases = run(adapter, CarrierContract.cases(adapter, facts, options))
    return yield* Recording.recorded(cases, {
      adapter,
      connection: options.connection,
      file,
      isGood: haveAllPassed,
      replay: (cassette) => CarrierContract.cases(adapter, facts, { ...contractOptions, cassette })
    })
  }
  return yield* run(adapter, CarrierContract.cases(adapter, facts, { ...options, cassette: yield* played(file) }))
})

const linesOf = ({ carrier_id, cases }: Tested): ReadonlyArray<string> => [
  carrier_id,
  ...cases.flatMap(({ duration_ms, message, name }) => [
    `  ${message === null ? "pass" : "FAIL"}  ${`${duration_ms} ms`.padStart(8)}  ${name}`,
    ...(message === null ? [] : message.split("\n").map((line) => " ".repeat(18) + line))
  ])
]

/** Describes how many test cases passed, and how long they took together. */
const totalOf = (cases: Tested["cases"]): string => {
  const passed = cases.filter(({ message }) => message === null).length
  const seconds = cases.reduce((sum, { duration_ms }) => sum + duration_ms, 0) / 1_000
  return `${passed} of ${cases.length} cases passed in ${seconds.toFixed(1)} s`
}

/** `quotewire carriers test` tests whether carriers meet the carrier contract. */
export const test = Command.make(
  "test",
  reportAllErrors({
    file: CarrierFile.fileArgument,
    carrier: CarrierFile.carrierFlag("by default every carrier in the file"),
    facts: Trial.facts,
    environment: Trial.environment,
    cassette: cassetteFlag,
    record: recordFlag,
    json
  }),
  (settings) =>
    Effect.gen(function* () {
      if (settings.record && Option.isNone(settings.cassette)) {
        return yield* new WrongUsage({ message: "--record needs --cassette, the file to write." })
      }
      const config = yield* CarrierFile.load(settings.file)
      const carriers = yield* CarrierFile.chosen(config, Option.getOrUndefined(settings.carrier))
      yield* Trial.expectOneConnection(carriers)
      if (carriers.length > 1 && Option.isSome(settings.cassette)) {
        return yield* new WrongUsage({
          message: "A cassette holds the answers of one carrier. Choose the carrier with --carrier."
        })
      }
      const facts = yield* Trial.factsOf(settings.facts)
      const options = {
        ...(config.lines !== undefined && { lines: config.lines }),
        ...(Option.isSome(settings.environment) && { environment: settings.environment.value })
      }
      const results = yield* Effect.forEach(carriers, (adapter) => tested(adapter, facts, options, settings)).pipe(
        Effect.provide(CarrierFile.transport(config))
      )
      const cases = results.flatMap((result) => result.cases)
      yield* Output.result(settings, { carriers: results }, [...results.flatMap(linesOf), totalOf(cases)])
      const failed = cases.filter(({ message }) => message !== null).length
      if (failed > 0) {
        const unwritten = settings.record ? " No cassette was written." : ""
        return yield* new CommandFailed({ message: `${failed} of ${cases.length} cases failed.${unwritten}` })
      }
    })
).pipe(Command.withDescription("Test carriers against the adapter contract, in their sandbox or with a cassette"))
