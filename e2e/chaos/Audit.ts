import { type FeedEvent, isFinal } from "./Feed.ts"
import type { Received } from "./Receiver.ts"

/** What an organization was promised, and the outcome. */
export interface Outcome {
  readonly accepted: ReadonlySet<string>
  /** The feed as seen by each reader that followed it throughout. */
  readonly followed: ReadonlyArray<ReadonlyArray<FeedEvent>>
  /** The final state of the feed. */
  readonly feed: ReadonlyArray<FeedEvent>
  /** The final state of the requests, by id. */
  readonly requests: ReadonlyMap<string, { readonly status: string; readonly version: number }>
  readonly received: ReadonlyArray<Received>
  /** The events that a consumer handled, of all organizations; null without a consumer. */
  readonly consumed: ReadonlyArray<string> | null
  /** How far its clock should have advanced, and how far it did, in seconds. */
  readonly clock: { readonly accepted: number; readonly stands: number }
}

const some = (all: ReadonlyArray<string>): string => `${all.slice(0, 3).join(", ")}${all.length > 3 ? ", …" : ""}`

/** The broken promises of an outcome, in sentences; empty if every promise was kept. */
export const findings = (outcome: Outcome): ReadonlyArray<string> => {
  const { clock } = outcome
  return [
    ...ofFeeds(outcome),
    ...ofRequests(outcome),
    ...outcome.received.flatMap((received) => ofReceiver(outcome, received)),
    ...ofConsumer(outcome),
    ...(clock.stands === clock.accepted ? [] : [`The clock stands at ${clock.stands} s, not at ${clock.accepted} s`])
  ]
}

const ofReceiver = ({ feed }: Outcome, { bodies, wrong }: Received): ReadonlyArray<string> => {
  const bodiesDiffer = feed.filter(({ id }) => new Set(bodies.get(id)).size > 1)
  const undelivered = feed.filter(({ id }) => !bodies.has(id))
  return [
    ...(undelivered.length === 0
      ? []
      : [`${undelivered.length} events were not delivered: ${some(undelivered.map(({ id }) => id))}`]),
    ...(bodiesDiffer.length === 0 ? [] : [`The bodies of ${some(bodiesDiffer.map(({ id }) => id))} differ`]),
    ...wrong
  ]
}

/** A consumer may see an event again, but it must see new events in feed order. */
const ofConsumer = ({ consumed, feed }: Outcome): ReadonlyArray<string> => {
  if (consumed === null) return []
  const ids = feed.map(({ id }) => id)
  const own = new Set(ids)
  const firsts = [...new Set(consumed)].filter((id) => own.has(id))
  const first = ids.findIndex((id, index) => firsts[index] !== id)
  return first === -1
    ? []
    : [`The consumer handled ${firsts.length} of ${ids.length} events; the first difference is at ${first}`]
}

const ofFeeds = ({ feed, followed }: Outcome): ReadonlyArray<string> => {
  const ids = feed.map(({ id }) => id)
  return [
    ...(new Set(ids).size === ids.length ? [] : ["An event is in the feed twice"]),
    ...followed.flatMap((seen) => {
      const first = ids.findIndex((id, index) => seen[index]?.id !== id)
      return first === -1 && seen.length === ids.length
        ? []
        : [`Who followed the feed saw ${seen.length} of ${ids.length} events; the first difference is at ${first}`]
    }),
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
