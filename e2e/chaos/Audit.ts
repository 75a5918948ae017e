import { type FeedEvent, isFinal } from "./Feed.ts"
import type { Received } from "./Receiver.ts"

/** What an organization was promised and what has come of it. */
export interface Outcome {
  readonly accepted: ReadonlySet<string>
  /** The feed as a reader saw it who followed it all the time. */
  readonly followed: ReadonlyArray<FeedEvent>
  /** The feed as it reads at the end. */
  readonly feed: ReadonlyArray<FeedEvent>
  /** The requests as they read at the end, by their identifiers. */
  readonly requests: ReadonlyMap<string, { readonly status: string; readonly version: number }>
  readonly received: Received
  /** How far its clock was to be advanced, and how far it was, in seconds. */
  readonly clock: { readonly accepted: number; readonly stands: number }
}

const some = (all: ReadonlyArray<string>): string => `${all.slice(0, 3).join(", ")}${all.length > 3 ? ", …" : ""}`

/** What is wrong with an outcome, in sentences; nothing where every promise was kept. */
export const findings = (outcome: Outcome): ReadonlyArray<string> => {
  const { clock, feed, received } = outcome
  const bodiesDiffer = feed.filter(({ id }) => new Set(received.bodies.get(id)).size > 1)
  const undelivered = feed.filter(({ id }) => !received.bodies.has(id))
  return [
    ...ofFeeds(outcome),
    ...ofRequests(outcome),
    ...(undelivered.length === 0
      ? []
      : [`${undelivered.length} events were not delivered: ${some(undelivered.map(({ id }) => id))}`]),
    ...(bodiesDiffer.length === 0 ? [] : [`The bodies of ${some(bodiesDiffer.map(({ id }) => id))} differ`]),
    ...(clock.stands === clock.accepted ? [] : [`The clock stands at ${clock.stands} s, not at ${clock.accepted} s`]),
    ...received.wrong
  ]
}

const ofFeeds = ({ feed, followed }: Outcome): ReadonlyArray<string> => {
  const ids = feed.map(({ id }) => id)
  const seen = followed.map(({ id }) => id)
  const first = ids.findIndex((id, index) => seen[index] !== id)
  return [
    ...(new Set(ids).size === ids.length ? [] : ["An event is in the feed twice"]),
    ...(first === -1 && seen.length === ids.length
      ? []
      : [`Who followed the feed saw ${seen.length} of ${ids.length} events; the first difference is at ${first}`]),
    ...[...Map.groupBy(feed, ({ resource }) => resource.id)].flatMap(([id, events]) =>
      events.every(({ resource }, index) => resource.version === index + 1)
        ? []
        : [`The versions of ${id} in the feed are ${events.map(({ resource }) => resource.version).join(" ")}`]
    )
  ]
}

const ofRequests = ({ feed, accepted, requests }: Outcome): ReadonlyArray<string> => {
  const events = Map.groupBy(
    feed.filter(({ resource }) => resource.type === "quote_request"),
    ({ resource }) => resource.id
  )
  const unknown = [...events.keys()].filter((id) => !accepted.has(id))
  return [
    ...(unknown.length === 0 ? [] : [`Nobody was told of ${some(unknown)}`]),
    ...[...accepted].flatMap((id) => {
      const own = events.get(id) ?? []
      const ends = own.filter(({ type }) => isFinal(type)).length
      const queued = own.filter(({ type }) => type === "quote_request.queued").length
      const read = requests.get(id)
      if (queued !== 1) return [`${id} was accepted and is in the feed ${queued} times`]
      if (ends !== 1 || !isFinal(own.at(-1)?.type ?? "")) return [`${id} has ${ends} final events, not one at the end`]
      if (read === undefined || read.status === "in_progress") return [`${id} reads ${read?.status ?? "nothing"}`]
      return read.version === own.at(-1)?.resource.version ? [] : [`${id} reads version ${read.version}, not its last`]
    })
  ]
}
