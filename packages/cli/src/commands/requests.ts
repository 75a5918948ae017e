import { Ids } from "@quotewire/core"
import { Console, Effect, Option, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { WrongUsage } from "../CommandErrors.ts"
import { printable } from "../carriers/CarrierText.ts"
import * as HostClient from "../remote/HostClient.ts"
import * as RequestLog from "../remote/RequestLog.ts"
import * as StandardOutput from "../remote/StandardOutput.ts"
import { variableOf } from "../Settings.ts"
import * as StorageSettings from "../StorageSettings.ts"
import * as TimelineReport from "../TimelineReport.ts"

const isRequestId = Schema.is(Ids.RequestId)
const isQuoteRequestId = Schema.is(Ids.QuoteRequestId)

const id = Argument.String("id").pipe(
  Argument.filterMap(
    (text) => (isRequestId(text) || isQuoteRequestId(text) ? Option.some(text) : Option.none()),
    () => "<id> must be the id of a quote request, such as qreq_01…, or of a call, such as req_01…"
  ),
  Argument.withDescription("Id of a quote request, qreq_…, or of a call, req_…")
)

const bodies = Flag.Boolean("bodies").pipe(
  Flag.withDefault(false),
  Flag.withDescription("With qreq_…: print the recorded bodies, which can hold facts about a person")
)

/** Requires a setting that only one kind of id needs. Fails with a message that names it. */
const needed = <A>(flag: string, id: string, setting: Option.Option<A>): Effect.Effect<A, WrongUsage> =>
  Option.match(setting, {
    onNone: () => Effect.fail(new WrongUsage({ message: `${id} needs --${flag} (or ${variableOf(flag)}).` })),
    onSome: Effect.succeed
  })

/** Prints one call of the request log. */
const printCall = Effect.fnUntraced(function* (id: Ids.RequestId, settings: HostClient.HostSettings) {
  const client = HostClient.make(settings)
  const entry = yield* HostClient.call((signal) => client.get_api_request({ id }, { signal }))
  if (settings.json) return yield* Console.log(JSON.stringify(entry))
  const rows = Object.entries(entry).map(([name, value]) => `${name.padEnd(18)}${value ?? "none"}`)
  yield* Console.log(printable(rows.join("\n")))
})

const show = Command.make(
  "show",
  {
    id,
    bodies,
    ...StorageSettings.database,
    seal_keys: Flag.optional(StorageSettings.seal_keys),
    ...HostClient.flags,
    api_key: Flag.optional(HostClient.flags.api_key)
  },
  ({ id, ...settings }) =>
    Effect.gen(function* () {
      if (isRequestId(id)) {
        return yield* printCall(id, { ...settings, api_key: yield* needed("api-key", "req_…", settings.api_key) })
      }
      yield* needed(
        "database-url",
        "qreq_…",
        Option.orElse(settings.cells, () => settings.database_url)
      )
      const seal_keys = yield* needed("seal-keys", "qreq_…", settings.seal_keys)
      yield* TimelineReport.print(id, { ...settings, seal_keys })
    })
).pipe(
  Command.withDescription(
    "Show what happened to a quote request (qreq_…, from the database), or one call of the request log (req_…, from a host)"
  )
)

const tail = Command.make("tail", HostClient.flags, (settings) =>
  RequestLog.follow(settings).pipe(
    Stream.runForEach((entry) =>
      Console.log(settings.json ? JSON.stringify(entry) : printable(RequestLog.lineOf(entry)))
    ),
    StandardOutput.untilClosed
  )
).pipe(Command.withDescription("Print the calls of a host's request log as they come"))

/** `quotewire requests` shows what happened to a quote request, and the calls that a host has logged. */
export const requests = Command.make("requests").pipe(
  Command.withDescription("Look into quote requests, and into the request log of a host"),
  Command.withSubcommands([show, tail])
)
