import type { ErasedRequest, ErasureReport, ErasureTarget } from "@quotewire/core"
import { Caller, Ids } from "@quotewire/core/program"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Reach from "../remote/Reach.ts"
import { CommandFailed, interrupted, WrongUsage } from "../settings/CommandErrors.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json, word } from "../settings/Settings.ts"
import * as StandardInput from "../settings/StandardInput.ts"
import { organization } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

const flags = {
  id: Argument.String("id").pipe(
    Argument.filterMap(Schema.decodeUnknownOption(Ids.QuoteRequestId), () => "<id> must be an id such as qreq_01…"),
    Argument.withDescription("Id of the quote request to erase, qreq_…"),
    Argument.optional
  ),
  request: Flag.String("request").pipe(
    Flag.filterMap(Schema.decodeUnknownOption(Ids.QuoteRequestId), () => "--request must be an id such as qreq_01…"),
    Flag.withDescription("Id of the quote request to erase, instead of <id>"),
    Flag.optional
  ),
  receipt_stdin: Flag.Boolean("receipt-stdin").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Erase every quote request that was started with the consent receipt on standard input")
  ),
  organization: Flag.optional(organization),
  environment: Flag.optional(word("environment", Caller.Environment.literals, "Environment that the requests are in")),
  by: Flag.String("by").pipe(
    Flag.filter(
      (text) => text.trim() !== "" && text.length <= 200,
      () => "--by must have 1 to 200 characters"
    ),
    Flag.withDescription(
      "Who erases the data, or the ticket that requests the erasure. This text is stored, so do not name the person. Not needed with --dry-run"
    ),
    Flag.optional
  ),
  dry_run: Flag.Boolean("dry-run").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Print what would be erased, and change nothing")
  ),
  ...OperatorSettings.reach,
  seal_keys: OperatorSettings.sealKeys,
  json
}

interface Target {
  readonly id: Option.Option<Ids.QuoteRequestId>
  readonly request: Option.Option<Ids.QuoteRequestId>
  readonly receipt_stdin: boolean
  readonly organization: Option.Option<Ids.OrganizationId>
  readonly environment: Option.Option<Caller.Environment>
}

/** The options of an erasure. A dry run is not recorded, so it does not need `--by`. */
const optionsOf = ({ by, dry_run }: { readonly by: Option.Option<string>; readonly dry_run: boolean }) => {
  if (dry_run) return Effect.succeed({ dry_run: true } as const)
  return Option.isSome(by)
    ? Effect.succeed({ by: by.value })
    : Effect.fail(new WrongUsage({ message: "--by is required, except with --dry-run." }))
}

/**
 * What to erase. Receipts are read from standard input, because they may identify a person and other users can see
 * arguments.
 */
const targetOf = Effect.fnUntraced(function* (settings: Target) {
  const requests = [settings.id, settings.request].filter(Option.isSome)
  const [request] = requests
  if (requests.length + (settings.receipt_stdin ? 1 : 0) !== 1) {
    return yield* new WrongUsage({ message: "Give either the id of a quote request or --receipt-stdin, not both." })
  }
  const organization_id = Option.getOrUndefined(settings.organization)
  const environment = Option.getOrUndefined(settings.environment)
  if (request !== undefined) {
    const ofRequest: ErasureTarget = {
      quote_request_id: request.value,
      ...(organization_id !== undefined && { organization_id }),
      ...(environment !== undefined && { environment })
    }
    return ofRequest
  }
  if (organization_id === undefined || environment === undefined) {
    return yield* new WrongUsage({ message: "--receipt-stdin needs --organization and --environment." })
  }
  const consent_receipt_id = (yield* StandardInput.read("Type the receipt, then Ctrl-D. Your input is visible.")).trim()
  if (consent_receipt_id === "" || consent_receipt_id.length > 128) {
    return yield* StandardInput.unreadable("must be one receipt of 1 to 128 characters")
  }
  const ofReceipt: ErasureTarget = { consent_receipt_id, organization_id, environment }
  return ofReceipt
})

const outcomes: { readonly [Outcome in ErasedRequest["outcome"]]: string } = {
  erased: "erased",
  already_erased: "erased before",
  to_erase: "to erase"
}

const lineOf = ({ by, ended, erased_at, outcome, quote_request_id, quotes }: ErasedRequest): string =>
  [
    quote_request_id,
    outcomes[outcome],
    ...(erased_at === null ? [] : [`${erased_at} by ${JSON.stringify(by)}`]),
    ...(ended ? ["ended with consent_withdrawn"] : []),
    `${quotes} ${quotes === 1 ? "quote" : "quotes"}`
  ].join("  ")

const summaryOf = ({ already_erased, erased, requests, to_erase }: ErasureReport, dryRun: boolean) => {
  const total = erased + already_erased + to_erase
  if (total === 0) return ["Nothing was found, and nothing was changed."]
  const moreLine = total > requests.length ? [`… and ${total - requests.length} more`] : []
  const counts = dryRun
    ? `To erase: ${to_erase}. Erased before: ${already_erased}. Nothing was changed.`
    : `Erased: ${erased}. Erased before: ${already_erased}.`
  return [...moreLine, counts, gone, remains]
}

const gone =
  "Erasure removes facts, contact data and the read handle; the description of what was insured; carriers' messages, references and links; and older versions of quotes."
const remains =
  "Erasure keeps the ids, statuses, prices and dates of requests and quotes; events; the record of consent, with hashes of its receipts; and the record of the erasure."

/** `quotewire erase` erases a person's data. */
export const erase = Command.make("erase", reportAllErrors(flags), (settings) =>
  Effect.gen(function* () {
    const { dry_run } = settings
    const options = yield* optionsOf(settings)
    const target = yield* targetOf(settings)
    const report = yield* Reach.withErasures(settings, (erasures) =>
      erasures.erase(target, options).pipe(
        Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such organization." }))),
        Effect.catchTag("invalid_input", ({ message }) => Effect.fail(new CommandFailed({ message }))),
        Effect.catchTag("StorageUnavailable", () => Effect.fail(interrupted))
      )
    )
    const lines = [...report.requests.map(lineOf), ...summaryOf(report, dry_run)]
    yield* Output.result(settings, { dry_run, ...report }, lines)
  })
).pipe(
  Command.withDescription(
    "Erase a person's data from one quote request, or from all that were started with one receipt"
  )
)
