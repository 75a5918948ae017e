import { Context, Effect, Layer, Option } from "effect"
import { goTokens } from "../access/SignedId.ts"
import { Seal } from "../access/sealing/Seal.ts"
import { Workspaces } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import { CarrierClient } from "../carriers/CarrierClient.ts"
import * as Recorder from "../carriers/recorder/Recorder.ts"
import { Lines } from "../lines/Lines.ts"
import type { JobHandler, JobHandlers } from "../runner/JobHandler.ts"
import * as JobPayload from "../runner/JobPayload.ts"
import * as Change from "../storage/Change.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids, type WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { factsStored } from "./ApplicationRecord.ts"
import * as PendingAsks from "./asking/PendingAsks.ts"
import * as OfferRecord from "./OfferRecord.ts"
import * as Quote from "./Quote.ts"
import * as QuoteChange from "./QuoteChange.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import { mayRead } from "./readAuthority.ts"

/** Where `/go/…` leads: to the carrier, to a sandbox page, or to a page that says why the link no longer works. */
export type Destination =
  | { readonly _tag: "redirect"; readonly url: string }
  | { readonly _tag: "page"; readonly status: 200 | 404 | 410 | 503; readonly title: string; readonly message: string }

/** Reads quotes, expires them, and resolves links to carriers. */
export class Quotes extends Context.Service<
  Quotes,
  {
    /** Reads a quote, in its newest version or in the given version. Old versions never change. */
    readonly get: (
      call: Call,
      input: { readonly id: string; readonly version?: number }
    ) => Effect.Effect<Json.Json<Quote.Quote>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Resolves the token in `/go/<token>`. The destination is decided only when the person clicks. */
    readonly go: (token: string) => Effect.Effect<Destination, StorageUnavailable>
    readonly jobs: JobHandlers<"expire_quote">
  }
>()("@quotewire/core/Quotes") {
  static readonly layer: Layer.Layer<
    Quotes,
    never,
    Storage | Seal | Ids | Workspaces | CarrierClient | PendingAsks.PendingAsks | Recorder.Recorder
  > = Layer.effect(
    Quotes,
    Effect.gen(function* () {
      return Quotes.of({ get: yield* makeGet, go: yield* makeGo, jobs: { expire_quote: yield* makeExpire } })
    })
  )
}

/** Makes a function that reads a quote for a caller who may read it. */
const makeGet = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal

  const isOpened = Effect.fnUntraced(function* (call: Call, stored: Change.StoredRecord) {
    const request = yield* storage.get({
      workspace_id: call.caller.workspace_id,
      kind: QuoteRequest.kind.name,
      id: stored.parent ?? ""
    })
    return Option.isSome(request) && (yield* mayRead(storage, seal, call, QuoteRequest.kind.value(request.value)))
  })

  return Effect.fnUntraced(function* (call: Call, input: { readonly id: string; readonly version?: number }) {
    const key = { workspace_id: call.caller.workspace_id, kind: Quote.kind.name, id: input.id } as const
    const stored = yield* storage.get(key)
    if (Option.isNone(stored)) return yield* ApiError.make("not_found")
    const isOpen = call.caller.kind === "server" || (yield* isOpened(call, stored.value))
    if (!isOpen) return yield* ApiError.make("not_found")
    const newest = Quote.newestAt(stored.value, call.moment.now)
    if (input.version === undefined || input.version === newest.version) return newest.json
    const older = yield* storage.get({ ...key, version: input.version })
    if (Option.isNone(older)) return yield* ApiError.make("not_found")
    return Quote.kind.json(older.value)
  })
})

/**
 * Makes a function that gets a fresh link from the carrier at each click; the function returns null if the adapter
 * returns no link, or if the ask cannot be rebuilt.
 */
const makeFreshLink = Effect.gen(function* () {
  const client = yield* CarrierClient
  const askRecords = yield* PendingAsks.PendingAsks
  const recorder = yield* Recorder.Recorder

  return Effect.fnUntraced(function* (
    workspaceId: WorkspaceId,
    quote: Quote.Quote,
    { carrier_id, offer_ref }: OfferRecord.OfferRecord,
    now: number
  ) {
    const request = yield* askRecords.request(workspaceId, quote.quote_request_id)
    if (request === null) return null
    const pending = yield* askRecords.pending(workspaceId, request, {
      carrier_id,
      attempt: 1,
      now,
      exchange: "link"
    })
    if (pending === null || PendingAsks.lacksConnection(pending)) return null
    const fresh = yield* PendingAsks.logged(pending, client.handoff(pending, offer_ref))
    yield* recorder.endAlone(pending.draft, PendingAsks.exchangeSubjectOf(pending), factsStored(request.application_id))
    return fresh
  })
})

/** Makes a function that resolves links to carriers, at the time of the click. */
const makeGo = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  const workspaces = yield* Workspaces
  const freshLink = yield* makeFreshLink

  return Effect.fnUntraced(function* (token: string) {
    const link = yield* goTokens.read(seal, token)
    if (link === null) return unknownLink
    const place = { workspace_id: link.workspace_id, id: link.id }
    const stored = yield* storage.get({ ...place, kind: Quote.kind.name })
    if (Option.isNone(stored)) return unknownLink
    const { now } = yield* workspaces.moment(link.workspace_id)
    const quote = Json.decode(Quote.newestAt(stored.value, now).json)
    if (quote.status === "inactive") return deadLink(quote)
    if (quote.environment === "sandbox") return sandboxPage(quote)
    const storedOffer = yield* storage.get({ ...place, kind: OfferRecord.kind.name })
    if (Option.isNone(storedOffer)) return unknownLink
    const offer = OfferRecord.kind.value(storedOffer.value)
    const fresh = yield* freshLink(link.workspace_id, quote, offer, now)
    const url = fresh === null ? offer.handoff_url : fresh.url
    return url === null ? unknownLink : { _tag: "redirect" as const, url }
  })
})

/** Makes the handler of the job that expires a quote. */
const makeExpire = Effect.gen(function* () {
  const storage = yield* Storage
  const ids = yield* Ids
  const lines = yield* Lines

  const expire: JobHandler = Effect.fnUntraced(function* (job, now) {
    const { quote_id } = JobPayload.read(job, "expire_quote")
    const stored = yield* storage.get({ workspace_id: job.workspace_id, kind: Quote.kind.name, id: quote_id })
    const expired = Option.filter(stored, ({ expires_at }) => expires_at !== null && now >= expires_at)
    const change = Option.match(expired, {
      onNone: () => ({}),
      onSome: (quote) =>
        QuoteChange.deactivationChange(ids, {
          stored: quote,
          line: QuoteChange.lineOf(lines, quote),
          reason: "expired",
          at: now
        })
    })
    yield* storage.commit({ ...Change.make(job.workspace_id, change), finishes: [job] })
  })
  return expire
})

const unknownLink: Destination = {
  _tag: "page",
  status: 404,
  title: "Unknown link",
  message: "The link may have been copied incompletely. Ask for a new quote where you found the link."
}

const sandboxPage = (quote: Quote.Quote): Destination => ({
  _tag: "page",
  status: 200,
  title: "This is a sandbox quote",
  message: `${quote.source.carrier.name}: ${priceOf(quote)}. With a real quote, this link would open the carrier's site. Fictional carriers have no site.`
})

/** A price and its term, in words for a person. */
const priceOf = ({ price: { premium, term_months } }: Quote.Quote): string => {
  if (premium === null) return "its price is unknown"
  const dollars = (premium.amount_minor / 100).toFixed(2)
  return term_months === null ? `$${dollars}` : `$${dollars} for ${term_months} months`
}

const deadLink = (quote: Quote.Quote): Destination => ({
  _tag: "page",
  status: 410,
  title: quote.status_details.reason === "expired" ? "This quote has expired" : "This quote is no longer available",
  message: `It was a quote from ${quote.source.carrier.name}. ${quote.status_details.message} To continue, ask for a new quote where you found this link.`
})
