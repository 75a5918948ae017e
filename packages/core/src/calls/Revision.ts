import { Result } from "effect"
import * as Fault from "../concurrency/Fault.ts"
import * as ApiError from "../wire/ApiError.ts"
import * as Json from "../wire/Json.ts"

/** The members of an object, as JSON holds them. */
export interface Fields {
  readonly [name: string]: unknown
}

/** What an older revision takes otherwise as the input of an operation. */
export interface InputDifference {
  /** Turns the older input into the newer. What neither knows must stay unknown, so that it is refused. */
  readonly upgrade: (input: Fields) => Fields
  /** Turns the path of a newer field into that of the older one: a refusal names fields as the caller spells them. */
  readonly path: (path: string) => string
}

/** One thing that is otherwise in an older revision; operations by their names. */
export interface Difference {
  /** A sentence for those who read the older revision. */
  readonly summary: string
  readonly inputs?: { readonly [operation: string]: InputDifference }
  /** Each turns a newer answer into the older. */
  readonly answers?: { readonly [operation: string]: (answer: Fields) => Fields }
  /** Turns a newer event into the older, wherever one travels: in the feed, in a webhook, in the answer of a test. */
  readonly event?: (event: Fields) => Fields
}

/** A dated revision of the contract (api.md, Versioning 1). */
export interface Revision {
  /** As `Service-Version` names it, `2026-09-26`. */
  readonly date: string
  /**
   * What turns the newest form into this revision's, in this order: what the newest revision has changed comes first.
   *
   * The newest revision has none: its answers are never taken apart.
   */
  readonly differences: ReadonlyArray<Difference>
}

/** The revisions that a service serves, newest first. */
export type Served = readonly [Revision, ...ReadonlyArray<Revision>]

/** The revisions of this release. */
export const served: Served = [{ date: "2026-09-26", differences: [] }]

/** The revision that a `Service-Version` names; `invalid_version` where it is empty, repeated or not served. */
export const named = (
  served: Served,
  header: string
): Result.Result<Revision, ApiError.ApiError<"invalid_version">> => {
  const revision = served.find(({ date }) => date === header)
  return revision === undefined ? Result.fail(notServed(served)) : Result.succeed(revision)
}

/** The refusal of a revision that is not served; it lists those that are, newest first. */
export const notServed = (served: Served): ApiError.ApiError<"invalid_version"> =>
  ApiError.make("invalid_version", {
    field_errors: [
      {
        path: "Service-Version",
        message: "Must be a served revision.",
        allowed_values: served.map(({ date }) => date)
      }
    ]
  })

/**
 * The revision that is served to a pin.
 *
 * A pin can outlive its revision, or be made by a newer release than this: it is the oldest one then that is not older
 * than the pin, else the newest.
 */
export const nearest = (served: Served, pin: string): Revision =>
  served.findLast(({ date }) => date >= pin) ?? served[0]

/** An input of a revision in the newest form. */
export const input = (revision: Revision, operation: string, sent: unknown): unknown =>
  isFields(sent)
    ? Fault.withoutMessage(() =>
        revision.differences.reduceRight((fields, { inputs }) => inputs?.[operation]?.upgrade(fields) ?? fields, sent)
      )
    : sent

/** An answer of the newest form in that of a revision. It is not decoded where they are the same. */
export const answer = (revision: Revision, operation: string, newest: Json.Json<unknown>): string => {
  const changes = revision.differences.flatMap(({ answers, event }) => [
    ...(answers?.[operation] === undefined ? [] : [answers[operation]]),
    ...(event === undefined ? [] : withEvents(operation, event))
  ])
  return rewritten(newest, changes).text
}

/** An event of the newest form in that of a revision. */
export const event = <A>(revision: Revision, newest: Json.Json<A>): Json.Json<A | Fields> =>
  rewritten<A>(
    newest,
    revision.differences.flatMap(({ event }) => event ?? [])
  )

/** A refusal as a caller of a revision reads it: its top level is the same in all, its paths are the caller's. */
export const refusal = (revision: Revision, operation: string, newest: ApiError.ApiError): ApiError.ApiError =>
  ApiError.inRevision(newest, revision.date, (path) =>
    Fault.withoutMessage(() =>
      revision.differences.reduce((path, { inputs }) => inputs?.[operation]?.path(path) ?? path, path)
    )
  )

/** An input field that the newer revision names otherwise: the names change places, so that neither is taken for both. */
export const renamedInput = (older: string, newer: string): InputDifference => {
  const swap = (name: string): string => (name === older ? newer : name === newer ? older : name)
  return {
    upgrade: (input) => Object.fromEntries(Object.entries(input).map(([name, value]) => [swap(name), value])),
    path: (path) => {
      const [first = "", ...rest] = path.split(".")
      return [swap(first), ...rest].join(".")
    }
  }
}

/** A field of an object that the newer revision names otherwise; it keeps its place. */
export const renamed =
  (older: string, newer: string) =>
  (fields: Fields): Fields =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name === newer ? older : name, value]))

/** Where operations answer with events. */
const eventFields: { readonly [operation: string]: string } = { list_events: "events", send_test_event: "event" }

const withEvents = (operation: string, change: (event: Fields) => Fields) => {
  const name = eventFields[operation]
  if (name === undefined) return []
  const each = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(each)
    return isFields(value) ? change(value) : value
  }
  return [(answer: Fields): Fields => ({ ...answer, [name]: each(answer[name]) })]
}

const rewritten = <A>(
  newest: Json.Json<A>,
  changes: ReadonlyArray<(fields: Fields) => Fields>
): Json.Json<A | Fields> => {
  if (changes.length === 0) return newest
  const decoded: unknown = Json.decode(newest)
  if (!isFields(decoded)) return newest
  return Json.encode(Fault.withoutMessage(() => changes.reduce((fields, change) => change(fields), decoded)))
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
