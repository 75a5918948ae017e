import type * as Ledger from "./Ledger.ts"
import { isBefore } from "./Ledger.ts"
import * as LimitInvariants from "./LimitInvariants.ts"
import type { Reading, Readings } from "./Observer.ts"
import { isOnce, nameOf, narrowRoom } from "./SimulatedCarriers.ts"
import type { Story } from "./Story.ts"
import * as WebhookInvariants from "./WebhookInvariants.ts"
import { environmentOf, type WorkspaceName, type Workspaces } from "./World.ts"

/*
 * What must hold for every story, as pure checks of what the outside has seen and of the final reads.
 */

const isFinal = (type: string): boolean =>
  ["completed", "failed", "cancelled", "incomplete"].some((end) => type === `quote_request.${end}`)

/** Everything that is wrong, in sentences. */
export const findings = (
  story: Story,
  ledger: Ledger.Ledger,
  readings: Readings,
  workspaces: Workspaces
): ReadonlyArray<string> => [
  ...[...readings].flatMap(([name, reading]) => [
    ...ofFeed(name, reading, ledger),
    ...ofFollowed(name, workspaces[name].id, reading, ledger),
    ...ofAccepted(name, reading, ledger),
    ...ofQuotes(reading),
    ...(story.consumes
      ? ofConsumer(reading, ledger, `${workspaces[name].organization_id} ${environmentOf(name)}`)
      : []),
    ...WebhookInvariants.findings(name, workspaces[name].id, reading, ledger, story)
  ]),
  ...ofCarriers(story, ledger),
  ...ofErasures(story, ledger),
  ...(story.has_limits ? LimitInvariants.findings(story, ledger) : []),
  ...ofKeys(ledger)
]

/** Whether a reset of a workspace was sent. */
const wasReset = (ledger: Ledger.Ledger, name: WorkspaceName): boolean =>
  ledger.begun.some(({ about, deed }) => deed === "reset_sandbox" && about === name)

/**
 * The feed lists each event once; the versions of each resource increase by one; each request has one beginning and one
 * end.
 */
const ofFeed = (name: WorkspaceName, { feed, requests }: Reading, ledger: Ledger.Ledger): ReadonlyArray<string> => {
  const found: Array<string> = []
  if (new Set(feed.map(({ id }) => id)).size !== feed.length) found.push(`The feed of ${name} has an event twice`)
  for (const [id, events] of Map.groupBy(feed, ({ resource }) => resource.id)) {
    const versions = events.map(({ resource }) => resource.version)
    if (versions.some((version, index) => version !== index + 1)) {
      found.push(`The versions of ${id} in the feed are ${versions.join(" ")}`)
    }
  }
  const accepted = new Set(ledger.accepted.map(({ id }) => id))
  for (const { quote_request, quotes } of requests) {
    const own = feed.filter(({ resource }) => resource.id === quote_request.id)
    const ends = own.filter(({ type }) => isFinal(type)).length
    if (own[0]?.type !== "quote_request.queued") found.push(`${quote_request.id} does not begin with its queue`)
    if (ends !== 1) found.push(`${quote_request.id} has ${ends} final events`)
    if (own.at(-1)?.resource.version !== quote_request.version) {
      found.push(`${quote_request.id} reads version ${quote_request.version}, which is not the last in the feed`)
    }
    // A repeat that a host processes late starts a new request if a reset has erased the first.
    if (!accepted.has(quote_request.id) && !wasReset(ledger, name)) found.push(`Nobody was told of ${quote_request.id}`)
    // Quotes of pet insurance have no events.
    if (quote_request.line === "pet") continue
    for (const { id, version } of quotes) {
      const last = feed.findLast(({ resource }) => resource.id === id)
      if (last?.resource.version !== version) found.push(`${id} reads version ${version}, which is not in the feed`)
    }
  }
  return found
}

/** Whoever follows the feed sees its content, in the same order. After a reset, a follower starts over. */
const ofFollowed = (
  name: WorkspaceName,
  workspaceId: string,
  { feed }: Reading,
  ledger: Ledger.Ledger
): ReadonlyArray<string> => {
  const lists = ledger.followed.get(name) ?? []
  const followed = lists.at(-1) ?? []
  const stored = new Map(ledger.committed.map((event) => [event.id, event.at]))
  // Events stored after the end of the story may be missed.
  const due = feed.filter(({ id }) => (stored.get(id) ?? 0) < ledger.ended_at)
  const first = due.findIndex(({ id }, index) => followed[index]?.id !== id)
  const isWhole = first === -1 && followed.every(({ id }, index) => feed[index]?.id === id)
  const committed = ledger.committed.filter((event) => event.workspace_id === workspaceId).map(({ id }) => id)
  return [
    ...(isWhole
      ? []
      : [`Who followed the feed of ${name} saw ${followed.length} of ${feed.length} events, the first ${first} alike`]),
    ...ofExpired(name, lists.slice(0, -1), committed)
  ]
}

/**
 * Before its cursor expired, a follower saw events without gaps, and none that it had seen before an earlier cursor
 * expired.
 */
const ofExpired = (
  name: WorkspaceName,
  lists: Ledger.Followed,
  committed: ReadonlyArray<string>
): ReadonlyArray<string> => {
  let from = 0
  return lists.flatMap((list) => {
    const begin = list.length === 0 ? from : committed.indexOf(list[0]?.id ?? "", from)
    const isPart = begin !== -1 && list.every(({ id }, index) => committed[begin + index] === id)
    if (!isPart) return [`Who followed the feed of ${name} saw other events before a cursor expired than were stored`]
    from = begin + list.length
    return []
  })
}

/** Accepted starts exist, once for each key, and are final. */
const ofAccepted = (name: WorkspaceName, { requests }: Reading, ledger: Ledger.Ledger): ReadonlyArray<string> => {
  const resets = ledger.begun.filter(({ about, deed }) => deed === "reset_sandbox" && about === name)
  const ids = new Set<string>(requests.map(({ quote_request }) => quote_request.id))
  const accepted = ledger.accepted.filter(({ workspace }) => workspace === name)
  const lost = accepted.filter(
    (start) => !ids.has(start.id) && !resets.some((reset) => mayHaveErased(start.sent, reset, ledger))
  )
  const found = lost.map(({ id }) => `${id} was accepted and is lost`)
  if (wasReset(ledger, name)) return found
  for (const [request, all] of Map.groupBy(accepted, ({ request: entry }) => entry)) {
    const own = new Set(all.map(({ id }) => id))
    if (own.size > 1) found.push(`The start call of request ${request} was accepted as ${[...own].join(" and ")}`)
  }
  return found
}

/** Whether a reset may have erased a start call that was sent at a moment: the reset had not returned by then. */
const mayHaveErased = (started: Ledger.Moment, { about, sent }: Ledger.Begun, { done }: Ledger.Ledger): boolean => {
  const reset = done.find((one) => one.about === about && one.sent.step === sent.step)
  return reset === undefined || isBefore(started, reset.answered)
}

/** No quote is available longer than it claims. */
const ofQuotes = ({ requests, workspace_time }: Reading): ReadonlyArray<string> =>
  requests.flatMap(({ quotes }) =>
    quotes.flatMap(({ availability: { expires_at }, id, status }) =>
      status === "active" && expires_at !== null && Date.parse(expires_at) < workspace_time - slackMs
        ? [`${id} has expired and is active`]
        : []
    )
  )

/** How far apart clocks may be. */
const slackMs = 60_000

/** A consumer gets every event, and sees those of a workspace for the first time in feed order. */
const ofConsumer = ({ feed }: Reading, ledger: Ledger.Ledger, workspaceId: string): ReadonlyArray<string> => {
  const handled = ledger.handled.filter((one) => one.workspace_id === workspaceId).map(({ event_id }) => event_id)
  const seen = new Set(handled)
  const skipped = feed.filter(({ id }) => !seen.has(id))
  const inFeed = new Set<string>(feed.map(({ id }) => id))
  const firsts = [...seen].filter((id) => inFeed.has(id))
  const isOrdered = firsts.every((id, index) => feed[index]?.id === id)
  return [
    ...(skipped.length === 0 ? [] : [`The consumer has skipped ${skipped.map(({ id }) => id).join(", ")}`]),
    ...(skipped.length > 0 || isOrdered ? [] : [`The consumer got the events of ${workspaceId} in another order`])
  ]
}

/** A carrier that must not be asked twice is not, unless it said that it did not accept the ask; and limits hold. */
const ofCarriers = ({ actions }: Story, { asks }: Ledger.Ledger): ReadonlyArray<string> => {
  const once = asks.filter(({ carrier_id }) => isOnce(carrier_id))
  const twice = [...Map.groupBy(once, ({ carrier_id, key }) => `${carrier_id} ${key}`).values()].flatMap((all) =>
    all.slice(0, -1).some(({ was_refused }) => !was_refused)
      ? [`${all[0]?.carrier_id} was asked ${all.length} times for request ${all[0]?.request}`]
      : []
  )
  // If clocks differ, hosts disagree on which calls of a dead host have ended.
  if (actions.some((action) => action.do === "set the clock")) return twice
  // A call that hangs in a paused host continues for longer than the host reserves room for it.
  const mayHang = actions.some((action) => action.do === "pause")
  const narrow = asks.filter(({ carrier_id, hangs }) => carrier_id === "naic:90007" && !(hangs && mayHang))
  const crowded = [...Map.groupBy(narrow, ({ line }) => line).values()].flatMap((own) => {
    const most = Math.max(0, ...own.map((ask) => own.filter((other) => overlaps(ask, other)).length))
    return most > narrowRoom ? [`A carrier with room for ${narrowRoom} calls had ${most} at once`] : []
  })
  return [...twice, ...crowded]
}

/** Whether a call was in progress when another began. */
const overlaps = (began: Ledger.Ask, other: Ledger.Ask): boolean =>
  !isBefore(began, other) && other.ended_at !== null && began.at < other.ended_at

/** The requests whose erasure was answered, if their person was in no other request. */
const erasedOf = ({ accepted, done }: Ledger.Ledger): ReadonlyArray<number> =>
  done
    .filter(({ deed }) => deed === "erase")
    .flatMap(({ about }) => {
      const request = accepted.find(({ id }) => id === about)?.request
      const isOnly = accepted.every((one) => one.request !== request || one.id === about)
      return request === undefined || !isOnly ? [] : [request]
    })

/** No stored data names a person whose data was erased at the end. */
export const ofStored = (story: Story, ledger: Ledger.Ledger, texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  // A start call that is repeated after a reset is a new request that its caller may not have been told about.
  if (story.actions.some((action) => action.do === "reset")) return []
  const all = texts.join()
  return erasedOf(ledger).flatMap((request) =>
    new RegExp(`${nameOf(request)}(?![a-j])`).test(all)
      ? [`The person of request ${request} is stored after an erasure`]
      : []
  )
}

/** How long a host may cache a key that was revoked on another one. */
const knownMs = 1_000

/** A key works until it is revoked, and within a second of that on no host. */
const ofKeys = ({ begun, done, keyUses, reached }: Ledger.Ledger): ReadonlyArray<string> =>
  keyUses.flatMap(({ answered, sent, was_accepted, workspace }) => {
    const isRevocation = ({ about, deed }: Ledger.Begun) => deed === "revoke" && about === workspace
    const revoked = done.find(isRevocation)
    if (was_accepted && revoked !== undefined && isBefore(revoked.answered, sent)) reached.add("outdated: a cached key")
    if (was_accepted && revoked !== undefined && sent.at > revoked.answered.at + knownMs)
      return [`A key of ${workspace} was accepted ${sent.at - revoked.answered.at} ms after it was revoked`]
    const revoking = begun.find(isRevocation)
    return was_accepted || (revoking !== undefined && isBefore(revoking.sent, answered))
      ? []
      : [`A key of ${workspace} was refused before it was revoked`]
  })

/** An ask that loaded its facts before an erasure returned takes this long to be made, if storage is quick. */
const loadingMs = 1_000

/** After an erasure was answered, no carrier is asked about its person. */
const ofErasures = ({ actions }: Story, { accepted, asks, done }: Ledger.Ledger): ReadonlyArray<string> => {
  // A paused host, or one with slow storage, may hold an ask for longer.
  if (actions.some((action) => action.do === "pause" || (action.do === "storage" && action.how === "is slow")))
    return []
  return done
    .filter(({ deed }) => deed === "erase")
    .flatMap(({ about, answered }) => {
      const request = accepted.find(({ id }) => id === about)?.request
      const others = accepted.some((one) => one.request === request && one.id !== about)
      if (others) return []
      return asks
        .filter((ask) => ask.request === request && isBefore(answered, ask) && ask.at > answered.at + loadingMs)
        .map(
          ({ at, attempt, carrier_id }) =>
            `${carrier_id} was asked for ${about}, attempt ${attempt}, ${at - answered.at} ms after it was erased`
        )
    })
}
