import { Ids } from "@quotewire/core/program"
import { Console, Effect, Option, type Redacted, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Feed from "../remote/Feed.ts"
import * as Forward from "../remote/Forward.ts"
import * as HostClient from "../remote/HostClient.ts"
import * as StandardOutput from "../remote/StandardOutput.ts"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"

const print = (isJson: boolean) => (event: Feed.FeedEvent) =>
  Output.result({ json: isJson }, event, [Feed.lineOf(event)])

const tail = Command.make(
  "tail",
  reportAllErrors({ ...HostClient.flags, types: Feed.typesFlag, since: Feed.sinceFlag }),
  ({ json, since, types, ...settings }) =>
    Effect.gen(function* () {
      const following = yield* Feed.follow(HostClient.make(settings), since)
      yield* following.events.pipe(Stream.filter(Feed.isOf(types)), Stream.runForEach(print(json)))
    }).pipe(Effect.scoped, StandardOutput.untilClosed)
).pipe(Command.withDescription("Print events as they arrive"))

const list = Command.make(
  "list",
  reportAllErrors({ ...HostClient.flags, types: Feed.typesFlag, since: Feed.listedSinceFlag }),
  ({ json, since, types, ...settings }) =>
    Feed.stored(HostClient.make(settings), since).pipe(
      Stream.filter(Feed.isOf(types)),
      Stream.runForEach(print(json)),
      StandardOutput.untilClosed
    )
).pipe(Command.withDescription("Print the events of the last 30 days, oldest first"))

const eventArgument = Argument.String("event_id").pipe(
  Argument.filterMap(
    Schema.decodeUnknownOption(Ids.EventId),
    () => "<event_id> must be the id of an event, such as evt_01…"
  ),
  Argument.withDescription("Id of the event, evt_…")
)

const subscriptionFlag = Flag.String("subscription").pipe(
  Flag.filterMap(
    Schema.decodeUnknownOption(Ids.SubscriptionId),
    () => "--subscription must be the id of a subscription, such as sub_01…"
  ),
  Flag.withDescription("Id of the subscription to redeliver the event to, sub_…"),
  Flag.optional
)

interface ResendSettings extends HostClient.HostSettings {
  readonly event_id: Ids.EventId
  readonly webhook_header_prefix: string
}

/** Asks the host to resend an event to a subscription. */
const replayed = Effect.fnUntraced(function* (settings: ResendSettings, id: Ids.SubscriptionId) {
  const client = HostClient.make(settings)
  const { event_id } = settings
  const answer = yield* HostClient.call((signal) => client.replay_event_delivery({ id, event_id }, { signal }))
  yield* Console.log(settings.json ? JSON.stringify(answer) : `${event_id}  queued for delivery to ${id}`)
})

/** Finds an event in the feed and sends it to the receiver from this machine. */
const forwarded = Effect.fnUntraced(function* (
  settings: ResendSettings,
  url: string,
  secret: Redacted.Redacted<string>
) {
  const forward = yield* Forward.make
  const isAsked = ({ id }: Feed.FeedEvent) => id === settings.event_id
  const storedEvent = yield* Feed.stored(HostClient.make(settings), "start").pipe(
    Stream.filter(isAsked),
    Stream.runHead
  )
  if (Option.isNone(storedEvent)) {
    return yield* new CommandFailed({ message: "No such event in the feed, which keeps events for 30 days." })
  }
  const event = storedEvent.value
  const result = yield* forward({ url, secret, header_prefix: settings.webhook_header_prefix }, event)
  yield* Output.result(settings, { event, ...result }, [`${Feed.lineOf(event)}  ${Forward.wordsOf(result)}`])
  if (!Forward.isConfirmed(result)) {
    return yield* new CommandFailed({ message: "The receiver did not confirm the event with a 2xx status." })
  }
})

const resend = Command.make(
  "resend",
  reportAllErrors({
    event_id: eventArgument,
    ...HostClient.flags,
    forward_to: Flag.optional(Forward.target),
    signing_secret: Flag.optional(Settings.signingSecret),
    webhook_header_prefix: Settings.webhookHeaderPrefix,
    subscription: subscriptionFlag
  }),
  ({ forward_to, signing_secret, subscription, ...settings }) =>
    Effect.gen(function* () {
      if (Option.isSome(forward_to) === Option.isSome(subscription)) {
        return yield* new WrongUsage({ message: "Use either --forward-to or --subscription, not both." })
      }
      if (Option.isSome(subscription)) return yield* replayed(settings, subscription.value)
      if (Option.isNone(forward_to)) return
      if (Option.isNone(signing_secret)) {
        const variable = Settings.variableOf("signing-secret")
        return yield* new WrongUsage({
          message: `--forward-to needs --signing-secret (or ${variable}), the secret with which your receiver verifies signatures.`
        })
      }
      yield* forwarded(settings, forward_to.value, signing_secret.value)
    }).pipe(Effect.provide(Forward.layer))
).pipe(Command.withDescription("Resend an event, to your receiver or to a subscription"))

/** `quotewire events` prints a host's events, and can resend an event. */
export const events = Command.make("events").pipe(
  Command.withDescription("Read a host's events, and resend events"),
  Command.withSubcommands([tail, list, resend])
)
