import { Allowance, type Ids, Signature, type Timeline, Timelines, Timestamp } from "@quotewire/core"
import { Effect } from "effect"
import * as CarrierText from "../carriers/CarrierText.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import type { StorageSettings } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"
import * as Database from "./Database.ts"
import * as Service from "./Service.ts"

/** Settings for a service that serves no calls, runs no jobs and sends nothing. */
const unusedSettings: Service.ServiceSettings = {
  limits: Allowance.noLimits,
  no_limits: true,
  request_log: false,
  feedback: false,
  webhook_allow: [],
  webhook_header_prefix: Signature.defaultHeaderPrefix
}

interface TimelineSettings extends StorageSettings {
  readonly bodies: boolean
}

/** Reads all pages of a timeline. */
const readAll = Effect.fnUntraced(function* (id: Ids.QuoteRequestId, hasBodies: boolean) {
  const timelines = yield* Timelines.Timelines
  let page = yield* timelines.read(id, { bodies: hasBodies })
  const entries = [...page.entries]
  while (page.next !== null) {
    page = yield* timelines.read(id, { bodies: hasBodies, after: page.next })
    entries.push(...page.entries)
  }
  const { next: _, ...timeline } = page
  return { ...timeline, entries }
})

/** A timeline with all its pages. */
export type WholeTimeline = Omit<Timeline.Timeline, "next" | "workspace_id">

/** Reads a quote request's timeline from the database. */
export const read = Effect.fnUntraced(function* (id: Ids.QuoteRequestId, settings: TimelineSettings) {
  const storedAt = yield* Database.addressOf(settings)
  const service = Service.layer(unusedSettings, Database.dependencies(storedAt, settings, {}, Effect.never))
  return yield* readAll(id, settings.bodies).pipe(
    Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such quote request." }))),
    Effect.catchTag("StorageUnavailable", () => Effect.fail(Database.unavailable)),
    Effect.provide(service)
  )
})

/** Prints a quote request's timeline. */
export const print = Effect.fnUntraced(function* (timeline: WholeTimeline, settings: { readonly json: boolean }) {
  if (settings.json) return yield* Output.json(timeline)
  const { environment, incomplete, line, quote_request_id, reason, status } = timeline
  const startedAt = timeline.entries[0]?.at
  yield* Output.lines([
    `${quote_request_id}  ${line}, ${environment}: ${status} (${reason})`,
    ...(startedAt === undefined ? [] : [`Seconds since ${startedAt}:`, ...rowsOf(timeline.entries, startedAt)]),
    ...(incomplete.length > 0
      ? [`Some entries are missing (${incomplete.join(", ")}): there were too many entries to search.`]
      : [])
  ])
})

/** The carrier that an entry is about; null if the entry is about the request as a whole. */
const carrierOf = ({ details }: Timeline.Entry): string | null => ("carrier_id" in details ? details.carrier_id : null)

/**
 * Formats the entries about the request first, then those about each carrier, in the order in which the carriers
 * appear.
 */
const rowsOf = (entries: ReadonlyArray<Timeline.Entry>, startedAt: Timestamp.Timestamp): ReadonlyArray<string> => {
  const secondsAfterStart: SecondsAfterStart = (timestamp) =>
    ((Timestamp.toMillis(timestamp) - Timestamp.toMillis(startedAt)) / 1_000).toFixed(3)
  const byCarrier = Map.groupBy(entries, carrierOf)
  const request = byCarrier.get(null) ?? []
  byCarrier.delete(null)
  return [
    ...request.flatMap((entry) => linesOf(entry, secondsAfterStart)),
    ...Array.from(byCarrier).flatMap(([carrier, exchanges]) => [
      carrier ?? "",
      ...exchanges.flatMap((entry) => linesOf(entry, secondsAfterStart))
    ])
  ]
}

/** Formats a time as the number of seconds since the request started. */
type SecondsAfterStart = (at: Timestamp.Timestamp) => string

const indent = " ".repeat(23)

const linesOf = (entry: Timeline.Entry, secondsAfterStart: SecondsAfterStart): ReadonlyArray<string> => {
  const [first, ...more] = wordsOf(entry, secondsAfterStart)
  return [
    `${secondsAfterStart(entry.at).padStart(10)}  ${entry.what.padEnd(9)}  ${first}`.trimEnd(),
    ...more.map((line) => indent + line)
  ]
}

const because = (reason: string | null): string => (reason === null ? "" : ` (${reason})`)

/** Formats the lines for one entry. */
const wordsOf = (entry: Timeline.Entry, secondsAfterStart: SecondsAfterStart): ReadonlyArray<string> => {
  switch (entry.what) {
    case "call": {
      const { duration_ms, error_code, operation, request_id, status } = entry.details
      return [`${operation} ${status}${because(error_code)} in ${duration_ms} ms, ${request_id}`]
    }
    case "consent": {
      const { asked_by = "argument", disclosure_key, disclosure_version, receipt_id } = entry.details
      return [`${disclosure_key} ${disclosure_version}, asked by ${asked_by}, ${receipt_id}`]
    }
    case "not_asked": {
      const { missing_facts, reason } = entry.details
      return [`${reason} ${missing_facts.join(", ")}`.trimEnd()]
    }
    case "circuit": {
      const { circuit, since: openSince, until, why } = entry.details
      return [circuits[circuit], `open since ${openSince}${until === null ? "" : ` until ${until}`}: ${why}`]
    }
    case "asked":
      return [""]
    case "exchange":
      return exchange(entry.details)
    case "erased": {
      const { by, ended, quotes, state } = entry.details
      const remains = quotes === 0 ? "no quotes" : `prices of ${quotes} ${quotes === 1 ? "quote" : "quotes"} remain`
      return [
        `the person's data, by "${by}": ${remains}${ended ? "; the request was in progress" : ""}`,
        ...(state === "begun" ? ["It was stopped, so some data may still be there: run quotewire erase again."] : [])
      ]
    }
    case "outcome": {
      const { outcome, quote_ids, reason } = entry.details
      return [`${outcome}${because(reason)} ${quote_ids.join(", ")}`.trimEnd()]
    }
    case "quote": {
      const { quote_id, reason, status, version } = entry.details
      return [`${quote_id} version ${version}: ${status} (${reason})`]
    }
    case "event": {
      const { id, resource, type } = entry.details
      return [`${type} ${id}, ${resource.id} version ${resource.version}`]
    }
    case "delivery": {
      const { attempts, event_type, status, subscription_id } = entry.details
      return [
        `${event_type} to ${subscription_id}: ${status}`,
        ...attempts.map(
          ({ attempted_at, response_duration_ms, response_status_code }) =>
            `${secondsAfterStart(attempted_at)}  ${response_status_code ?? "no response"} in ${response_duration_ms} ms`
        )
      ]
    }
    default:
      // This program does not know this kind of entry, because the host is newer.
      return [JSON.stringify(entry)]
  }
}

type Circuit = Extract<Timeline.Entry, { readonly what: "circuit" }>["details"]

const circuits: { readonly [What in Circuit["circuit"]]: string } = {
  kept_out: "not asked, because the circuit is open",
  opened: "this ask opened the circuit",
  stays_open: "this trial ask failed, so the circuit stays open",
  closed: "this ask closed the circuit"
}

type Exchange = Extract<Timeline.Entry, { readonly what: "exchange" }>["details"]

/**
 * Formats an exchange's attempt number. Asks and refreshes are numbered; polls are not, because they repeat until a
 * response arrives.
 */
const tryOf = (details: Exchange): string =>
  details.exchange === "ask" || details.exchange === "refresh" ? `, attempt ${details.attempt}` : ""

const exchange = (details: Exchange): ReadonlyArray<string> => [
  `${details.exchange}${tryOf(details)}: ${details.outcome}${because(details.reason)} in ${details.duration_ms} ms`,
  ...(details.fault === null
    ? []
    : [details.fault === "ProcessEnded" ? "its process ended" : `threw ${details.fault}`]),
  ...details.broken_rules.map(({ message, path }) => `${path}: ${message}`),
  ...details.http.flatMap(CarrierText.http),
  ...(details.http_left_out === 0 ? [] : [`and ${details.http_left_out} more HTTP exchanges`])
]
