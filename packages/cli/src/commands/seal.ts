import { SealedRows } from "@quotewire/core"
import { Clock, Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import * as Database from "../service/Database.ts"
import * as Service from "../service/Service.ts"
import { CommandFailed, interrupted } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json } from "../settings/Settings.ts"
import { database, sealKeys } from "../settings/StorageSettings.ts"

const flags = { ...database, seal_keys: sealKeys, json }

const noteOf = ({ position, removable, sealed }: SealedRows.SealKeyStatus, isNewest: boolean): string => {
  if (isNewest) return "seals new rows"
  if (removable) return position === null ? "not in the settings" : "can be removed from the settings"
  if (position === null) return "missing from the settings: put this key back"
  return sealed > 0 ? "in use: run quotewire seal rotate" : "in use: hosts still seal with it"
}

const lineOf = (key: SealedRows.SealKeyStatus): string => {
  const { hashed, key_name, position, sealed } = key
  const place = position === null ? "-" : `${position}.`
  return [place, key_name, `${sealed} sealed`, `${hashed} hashed`, noteOf(key, position === 1)].join("  ")
}

const status = Command.make("status", reportAllErrors(flags), (settings) =>
  Effect.gen(function* () {
    const sealStatus = yield* (yield* SealedRows.SealedRows).status
    if (settings.json) return yield* Console.log(JSON.stringify(sealStatus))
    for (const key of sealStatus.keys) yield* Console.log(lineOf(key))
  }).pipe(Database.withSealedRows(settings))
).pipe(Command.withDescription("Count what each seal key seals, and show which keys can be removed"))

/** The shortest time between two progress lines, in milliseconds. */
const printEveryMs = 1_000

/**
 * Creates a function that prints the progress of a key rotation to standard error, because standard output is for
 * results.
 */
const makePrinter = Effect.gen(function* () {
  const begunAt = yield* Clock.currentTimeMillis
  let printedAt = begunAt
  return ({ pass, read, resealed, workspaces, workspaces_done }: SealedRows.SealProgress) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (now - printedAt < printEveryMs) return Effect.void
      printedAt = now
      const rate = Math.round((resealed * 1_000) / Math.max(1, now - begunAt))
      return Console.error(
        `quotewire: Pass ${pass}: ${workspaces_done} of ${workspaces} workspaces, ${read} read; ${resealed} resealed, ${rate} per second.`
      )
    })
})

const summaryOf = ({ complete, left, passes, removable, resealed }: SealedRows.SealRotation): ReadonlyArray<string> => [
  `Resealed: ${resealed}, in ${passes} ${passes === 1 ? "pass" : "passes"}.`,
  ...left.map(
    ({ key_name, sealed }) => `Left unchanged, because it cannot be opened: ${sealed} sealed with ${key_name}.`
  ),
  ...(complete
    ? []
    : ["Hosts still seal with an older key: start all hosts with the newest key, and run this command again."]),
  ...(removable.length === 0
    ? []
    : [
        `You can remove these keys from the settings after 15 minutes: ${removable.join(", ")}. Check with quotewire seal status.`
      ])
]

const rotate = Command.make("rotate", reportAllErrors(flags), (settings) =>
  Effect.gen(function* () {
    const sealedRows = yield* SealedRows.SealedRows
    const rotation = yield* sealedRows.rotate(yield* makePrinter).pipe(
      Effect.catchTags({
        StorageUnavailable: () => Effect.fail(interrupted),
        NewestKeyUnused: ({ message }) => Effect.fail(new CommandFailed({ message })),
        SealKeysRefused: (refusal) => Effect.fail(Service.wrongKeys(refusal))
      })
    )
    if (settings.json) yield* Console.log(JSON.stringify(rotation))
    else for (const line of summaryOf(rotation)) yield* Console.log(line)
    if (!rotation.complete) return yield* new CommandFailed({ message: "Hosts still seal with an older key." })
  }).pipe(Database.withSealedRows(settings))
).pipe(
  Command.withDescription(
    "Reseal everything that older keys sealed with the newest key, while hosts run; resumes where it stopped"
  )
)

const keyArgument = Argument.String("key").pipe(
  Argument.filter(
    (text) => /^[\w-]{8}$/.test(text),
    () => "<key> must be the name of a key, as quotewire seal status shows it"
  ),
  Argument.withDescription("Name of the lost key, as quotewire seal status shows it")
)

const giveUp = Command.make(
  "give-up",
  reportAllErrors({ key_name: keyArgument, ...flags }),
  ({ key_name, ...settings }) =>
    Effect.gen(function* () {
      yield* (yield* SealedRows.SealedRows).giveUp(key_name)
      yield* Console.log(
        settings.json
          ? JSON.stringify({ key_name, given_up: true })
          : `${key_name}  is given up: hosts now treat what it seals as lost. Restart every host.`
      )
    }).pipe(Database.withSealedRows(settings))
).pipe(Command.withDescription("Give up a seal key that is permanently lost, so that hosts start without this key"))

/** `quotewire seal` manages encrypted (sealed) data and its keys. */
export const seal = Command.make("seal").pipe(
  Command.withDescription("Rotate the seal keys of a database, and show what they seal"),
  Command.withSubcommands([status, rotate, giveUp])
)
