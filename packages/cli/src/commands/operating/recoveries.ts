import { Ids } from "@quotewire/core/program"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Listing from "../../remote/Listing.ts"
import * as OwnerOrOperator from "../../remote/OwnerOrOperator.ts"
import * as RecoveryCalls from "../../remote/RecoveryCalls.ts"
import { CommandFailed } from "../../settings/CommandErrors.ts"
import { reportAllErrors } from "../../settings/Parameters.ts"
import * as Output from "../../terminal/Output.ts"
import * as Style from "../../terminal/Style.ts"

const subscriptionArgument = Argument.String("subscription_id").pipe(
  Argument.filterMap(
    Schema.decodeUnknownOption(Ids.SubscriptionId),
    () => "<subscription_id> must be the id of a subscription, such as sub_01…"
  ),
  Argument.withDescription("Id of the subscription, sub_…")
)

const recoveryArgument = Argument.String("recovery_id").pipe(
  Argument.filterMap(
    Schema.decodeUnknownOption(Ids.RecoveryId),
    () => "<recovery_id> must be the id of a recovery, such as rcv_01…"
  ),
  Argument.withDescription("Id of the recovery, rcv_…")
)

const { flags } = OwnerOrOperator

const choice = {
  statuses: Listing.text("statuses", "Only deliveries in these states, comma-separated; failed,cancelled by default"),
  types: Listing.text("types", "Only deliveries of these event types, comma-separated; all by default"),
  after: Listing.text("after", "Only deliveries created at or after this time, such as 2026-11-20T08:00:00Z"),
  before: Listing.text("before", "Only deliveries created before this time; until now by default"),
  per_minute: Flag.Int("per-minute").pipe(
    Flag.optional,
    Flag.withDescription("How many deliveries to send per minute; 60 by default")
  )
}

const listOf = (text: string): ReadonlyArray<string> => text.split(",").map((part) => part.trim())

const choiceOf = (settings: {
  readonly statuses: Option.Option<string>
  readonly types: Option.Option<string>
  readonly after: Option.Option<string>
  readonly before: Option.Option<string>
  readonly per_minute: Option.Option<number>
}): RecoveryCalls.Choice => ({
  ...(Option.isSome(settings.statuses) && { statuses: listOf(settings.statuses.value) }),
  ...(Option.isSome(settings.types) && { event_types: listOf(settings.types.value) }),
  ...(Option.isSome(settings.after) && { created_after: settings.after.value }),
  ...(Option.isSome(settings.before) && { created_before: settings.before.value }),
  ...(Option.isSome(settings.per_minute) && { per_minute: settings.per_minute.value })
})

const lineOf = (recovery: RecoveryCalls.Recovery): string =>
  [
    recovery.id,
    recovery.reason === null ? recovery.state : `${recovery.state} (${recovery.reason})`,
    `${recovery.resent} of ${recovery.matched} sent again`,
    ...(recovery.skipped === 0 ? [] : [`${recovery.skipped} skipped`]),
    `${recovery.per_minute} per minute`,
    ...(recovery.left_seconds === 0 ? [] : [`about ${recovery.left_seconds} s left`]),
    `started ${recovery.created_at}`
  ].join("  ")

const printed = Effect.fnUntraced(function* (settings: { readonly json: boolean }, recovery: RecoveryCalls.Recovery) {
  const style = yield* Style.style
  yield* Output.result(settings, recovery, [lineOf(recovery)], Style.ofStatus(style, recovery.state))
})

const preview = Command.make(
  "preview",
  reportAllErrors({ subscription_id: subscriptionArgument, ...choice, ...flags }),
  (settings) =>
    Effect.gen(function* () {
      const calls = yield* RecoveryCalls.of(settings, settings.subscription_id)
      const recoveryPreview = yield* calls.preview(choiceOf(settings))
      const matched = `${recoveryPreview.matched}${recoveryPreview.is_complete ? "" : " or more"} deliveries match`
      const pace = `${recoveryPreview.takes_seconds} s at ${recoveryPreview.per_minute} per minute`
      yield* Output.result(settings, recoveryPreview, [`${matched}; sending them takes ${pace}. Nothing was sent.`])
    })
).pipe(Command.withDescription("Count the deliveries that a recovery would send again, and how long it would take"))

const start = Command.make(
  "start",
  reportAllErrors({ subscription_id: subscriptionArgument, ...choice, ...flags }),
  (settings) =>
    Effect.gen(function* () {
      const calls = yield* RecoveryCalls.of(settings, settings.subscription_id)
      yield* printed(settings, yield* calls.start(choiceOf(settings)))
    })
).pipe(Command.withDescription("Send deliveries of a subscription again, for example after its endpoint was down"))

const list = Command.make("list", reportAllErrors({ subscription_id: subscriptionArgument, ...flags }), (settings) =>
  Effect.gen(function* () {
    const calls = yield* RecoveryCalls.of(settings, settings.subscription_id)
    const recoveries = yield* calls.list
    if (settings.json) return yield* Output.json({ recoveries })
    if (recoveries.length === 0) return yield* Console.error("This subscription has had no recovery.")
    yield* Effect.forEach(recoveries, (recovery) => printed(settings, recovery))
  })
).pipe(Command.withDescription("List the recoveries of a subscription with their progress, newest first"))

const recoveryFlags = { subscription_id: subscriptionArgument, recovery_id: recoveryArgument, ...flags }

const show = Command.make("show", reportAllErrors(recoveryFlags), (settings) =>
  Effect.gen(function* () {
    const calls = yield* RecoveryCalls.of(settings, settings.subscription_id)
    const recovery = (yield* calls.list).find(({ id }) => id === settings.recovery_id)
    if (recovery === undefined) return yield* new CommandFailed({ message: "This subscription has no such recovery." })
    yield* printed(settings, recovery)
  })
).pipe(Command.withDescription("Show a recovery's progress"))

const changing = <const Name extends RecoveryCalls.Action>(action: Name, description: string) =>
  Command.make(action, reportAllErrors(recoveryFlags), (settings) =>
    Effect.gen(function* () {
      const calls = yield* RecoveryCalls.of(settings, settings.subscription_id)
      yield* printed(settings, yield* calls.change(settings.recovery_id, action))
    })
  ).pipe(Command.withDescription(description))

/** `quotewire recoveries` resends many of a subscription's deliveries, for its owner or for an operator. */
export const recoveries = Command.make("recoveries").pipe(
  Command.withDescription("Send many deliveries of a subscription again, after its endpoint was down"),
  Command.withSubcommands([
    preview,
    start,
    list,
    show,
    changing("pause", "Pause a recovery"),
    changing("resume", "Resume a paused recovery"),
    changing("stop", "Stop a recovery permanently")
  ])
)
