import { type Carrier, CarrierTransport } from "@quotewire/core"
import { type CarrierContract, Cassette } from "@quotewire/core/testing"
import { Effect, FileSystem } from "effect"
import { Flag } from "effect/cli"
import { CommandFailed } from "../settings/CommandErrors.ts"

/*
 * Records a carrier's answers to a cassette file while carriers are tried out.
 */

/** The flag that names the cassette file. */
export const cassetteFlag = (description: string) =>
  Flag.String("cassette").pipe(Flag.optional, Flag.withDescription(description))

/** The flag that says whether to write the cassette. */
export const recordFlag = (description: string) =>
  Flag.Boolean("record").pipe(Flag.withDefault(false), Flag.withDescription(description))

/** How to record a trial. */
export interface RecordingOptions<A> {
  readonly adapter: Carrier.CarrierAdapter
  readonly connection: CarrierContract.Options["connection"]
  /** The path of the cassette file. */
  readonly file: string
  /** Whether a result is worth recording. */
  readonly isGood: (result: A) => boolean
  /** The test cases that play the recording back. */
  readonly replay: (cassette: Cassette.Cassette) => ReadonlyArray<CarrierContract.Case>
}

/**
 * Runs a trial and writes the carrier's answers to a file.
 *
 * Before writing, plays the recording back with `replay`. If the trial's result is not good, writes nothing, so that a
 * good recording is never lost. Fails if nothing was exchanged, if a secret would be written, or if the recording
 * cannot be played back.
 */
export const recorded = Effect.fnUntraced(function* <A, E, R>(
  trial: Effect.Effect<A, E, R>,
  { adapter, connection, file, isGood, replay }: RecordingOptions<A>
) {
  const recording = yield* Cassette.record(yield* CarrierTransport, adapter, connection)
  const result = yield* Effect.provideService(trial, CarrierTransport, recording.transport)
  if (!isGood(result)) return result
  const cassette = yield* Effect.mapError(recording.cassette, ({ message }) => new CommandFailed({ message }))
  if (cassette.exchanges.length === 0) {
    return yield* new CommandFailed({ message: "Nothing was exchanged with the carrier, so no cassette was written." })
  }
  for (const { effect, name } of replay(cassette)) yield* Effect.mapError(effect, unplayable(name))
  const files = yield* FileSystem.FileSystem
  yield* Effect.mapError(
    files.writeFileString(file, Cassette.text(cassette)),
    () => new CommandFailed({ message: "--cassette must be a writable file." })
  )
  return result
})

const unplayable = (name: string) => (broken: CarrierContract.ContractBroken) =>
  new CommandFailed({
    message: `The recording cannot be played back, so no cassette was written. In the case "${name}": ${broken.message}`
  })
