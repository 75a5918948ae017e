import { randomBytes } from "node:crypto"
import { Signature } from "@quotewire/core"
import { Console, Effect, Option, Redacted, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import * as Feed from "../remote/Feed.ts"
import * as Forward from "../remote/Forward.ts"
import * as HostClient from "../remote/HostClient.ts"
import * as StandardOutput from "../remote/StandardOutput.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"

const flags = {
  ...HostClient.flags,
  forward_to: Forward.target,
  types: Feed.typesFlag,
  since: Feed.sinceFlag,
  signing_secret: Flag.optional(Settings.signingSecret),
  webhook_header_prefix: Settings.webhookHeaderPrefix
}

interface ListenSettings extends HostClient.HostSettings {
  readonly forward_to: string
  readonly types: ReadonlyArray<string>
  readonly since: string
  readonly signing_secret: Option.Option<Redacted.Redacted<string>>
  readonly webhook_header_prefix: string
}

/** The secret to sign with. If the user gave no secret, creates one and prints it, because the receiver needs it. */
const secretOf = Effect.fnUntraced(function* ({ json, signing_secret }: ListenSettings) {
  if (Option.isSome(signing_secret)) return signing_secret.value
  const secret = Signature.makeSecret(randomBytes(Signature.secretBytes))
  yield* Console.log(json ? JSON.stringify({ signing_secret: secret }) : `Signing secret: ${secret}`)
  return Redacted.make(secret)
})

const unreachable =
  "quotewire: Nothing is listening at --forward-to. Start your receiver. Each event is sent only once; to send an event again, run quotewire events resend."

const run = Effect.fnUntraced(function* (settings: ListenSettings) {
  const forward = yield* Forward.make
  const { events, cursor } = yield* Feed.follow(
    HostClient.make(settings, { fetch: HostClient.fetchAsListener }),
    settings.since
  )
  const receiver: Forward.Receiver = {
    url: settings.forward_to,
    secret: yield* secretOf(settings),
    header_prefix: settings.webhook_header_prefix
  }
  if (!settings.json) yield* Console.log("Forwarding events as they arrive. Press Ctrl-C to stop.")
  let isReachable = true
  const forwardAndPrint = Effect.fnUntraced(function* (event: Feed.FeedEvent) {
    const forwarded = yield* forward(receiver, event)
    const wasReachable = isReachable
    isReachable = forwarded.failure !== "connection_refused"
    if (wasReachable && !isReachable) yield* Console.error(unreachable)
    yield* Output.result(settings, { event, ...forwarded }, [`${Feed.lineOf(event)}  ${Forward.wordsOf(forwarded)}`])
  })
  // Sends one event at a time, so that the receiver gets the events in order, and a breakpoint in the receiver delays
  // later events.
  yield* events.pipe(
    Stream.filter(Feed.isOf(settings.types)),
    Stream.runForEach(forwardAndPrint),
    Effect.onInterrupt(() =>
      cursor() === null ? Effect.void : Console.error(`quotewire: To continue from here: --since ${cursor()}`)
    )
  )
}, Effect.scoped)

/** `quotewire listen` sends a host's events to your receiver, in the form that a subscription sends them. */
export const listen = Command.make("listen", reportAllErrors(flags), (settings) =>
  StandardOutput.untilClosed(run(settings)).pipe(Effect.provide(Forward.layer))
).pipe(Command.withDescription("Send events to your receiver as they arrive, signed like webhooks"))
