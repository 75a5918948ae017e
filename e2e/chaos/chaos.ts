import * as Audit from "./Audit.ts"
import * as Carriers from "./Carriers.ts"
import * as Chance from "./Chance.ts"
import * as Hosts from "./Hosts.ts"
import * as Moves from "./Moves.ts"
import * as Organization from "./Organization.ts"
import type { Cycle, Round } from "./Plan.ts"
import * as Receiver from "./Receiver.ts"
import * as Service from "./Service.ts"
import { readQuotes, settle, standsStillMs } from "./settle.ts"

/** What happened in a round. */
export interface Story {
  /** The cycles that were played. */
  readonly cycles: ReadonlyArray<Cycle>
  readonly accepted: number
  readonly events: number
  /** Repeated deliveries, which are allowed. */
  readonly repeated_deliveries: number
  /** Calls retried because a host or the database was unavailable. */
  readonly repeated_calls: number
  /** Events that the consumer handled more than once, which is allowed. */
  readonly repeated_events: number
  /** The time from the last fault until every accepted request ended. */
  readonly final_ms: number
  /** The time from the last fault until every event also reached its receivers and its consumer. */
  readonly recovered_ms: number
  /** The broken promises. */
  readonly findings: ReadonlyArray<string>
}

/** Options for playing a round. */
export interface Playing {
  readonly say: (line: string) => void
  /** When to stop starting cycles, in milliseconds since 1970. */
  readonly ends_at: number
}

// About ten starts per second over all lanes: faults should strike work in progress, not a host that cannot keep up.
const betweenStartsMs = 100
/** A fault that takes longer than this is stuck, in milliseconds. */
const strikesWithinMs = 600_000
/** How much of a host's log is shown if there are findings. */
const logCharacters = 4_000
const readers = 3
const receivers = 2

/** What a service is tested with. */
interface Ground {
  readonly service: Service.Service
  readonly carriers: Carriers.OpenCarriers
  readonly receivers: ReadonlyArray<Receiver.OpenReceiver>
}

/** Plays a round on two hosts and two PostgreSQL servers, and judges the outcome. */
export const play = async (round: Round, playing: Playing): Promise<Story> => {
  const carriers = await Carriers.open()
  const opened = await Promise.all(Array.from({ length: receivers }, () => Receiver.open()))
  const on = round.ground === "cells" ? { cells: 2 } : { standby: true }
  const options = { hosts: 2, durable: false, consumers: true, carriers_url: carriers.url, ...on } as const
  const service = await Service.open(options)
  carriers.callBackTo(service.hosts.map(({ base_url }) => base_url))
  try {
    const story = await strikeUnderLoad(round, playing, { service, carriers, receivers: opened })
    if (story.findings.length > 0) for (const host of service.hosts) playing.say(host.said().slice(-logCharacters))
    return story
  } finally {
    for (const receiver of opened) receiver.close()
    carriers.close()
    await service.close()
  }
}

/** Puts organizations under load until stopped. Returns what was wrong with their responses. */
const loadAll = (organizations: ReadonlyArray<Organization.Organization>, seed: number, lanes: number) => {
  const restMs = betweenStartsMs * lanes * organizations.length
  let overAt: number | null = null
  const isOver = () => overAt !== null
  const inTime = () => overAt === null || Date.now() - overAt < standsStillMs
  const running = organizations.flatMap((organization, place) => [
    ...Array.from({ length: lanes }, (_, lane) => {
      const number = place * lanes + lane
      return Organization.load(organization, Chance.make(seed + number), number, restMs, isOver)
    }),
    Organization.moveClock(organization, Chance.make(seed + 1_000 + place), 0, isOver, inTime)
  ])
  const all = Promise.allSettled(running)
  return async (): Promise<ReadonlyArray<string>> => {
    overAt = Date.now()
    const ended = await Promise.race([all, Hosts.after(standsStillMs)])
    if (ended === undefined) throw new Error("The callers got no response for two minutes after the last fault")
    return ended.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []))
  }
}

const inTime = async (name: string, strike: Promise<string>): Promise<string> => {
  const late = Promise.withResolvers<never>()
  const stuck = new Error(`"${name}" does not come to its end`)
  const timer = setTimeout(() => late.reject(stuck), strikesWithinMs)
  try {
    return await Promise.race([strike, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Strikes cycle by cycle. A long fault continues while the next cycles strike. */
const strikeAll = async (round: Round, { ends_at, say }: Playing, service: Service.Service) => {
  const played: Array<Cycle> = []
  const failed: Array<string> = []
  const long: Array<Promise<void>> = []
  const strike = async ({ faults, seed }: Cycle, place: number) => {
    const began = Date.now()
    const all = faults.map(({ name, strike: hit }, nth) => inTime(name, hit(service, Chance.make(seed + nth))))
    for (const one of await Promise.allSettled(all)) {
      const told = one.status === "fulfilled" ? one.value : `failed: ${one.reason}`
      if (one.status === "rejected") failed.push(`In cycle ${place + 1}: ${one.reason} ${one.reason?.cause ?? ""}`)
      say(`${place + 1} of ${round.cycles.length}, ${((Date.now() - began) / 1_000).toFixed(1)} s: ${told}`)
    }
  }
  const chance = Chance.make(round.seed)
  for (const [place, cycle] of round.cycles.entries()) {
    // After a fault that failed, such as a standby that does not follow, nothing more can be learned.
    if (Date.now() > ends_at || failed.length > 0) break
    await Hosts.after(100 + chance.below(400))
    const struck = strike(cycle, place)
    if (cycle.faults.some(({ isLong }) => isLong === true)) long.push(struck)
    else await struck
    played.push(cycle)
  }
  await Promise.all(long)
  return { played, failed }
}

const strikeUnderLoad = async (round: Round, playing: Playing, ground: Ground): Promise<Story> => {
  const { carriers, receivers: all, service } = ground
  const refused: Array<string> = []
  const organizations = await beginAll(ground, (why) => refused.push(why))
  const end = loadAll(organizations, round.seed, service.cells === null ? 4 : 2)
  const { failed, played } = await strikeAll(round, playing, service)
  const lastFault = Date.now()
  const wrong = await end()
  const consumed = service.consumers?.handled ?? null
  const outcomes = await Promise.all(organizations.map((organization) => settle(organization, all, consumed)))
  const quotes = await Promise.all(organizations.map(readQuotes))
  const handled = service.consumers?.handled ?? []
  return {
    cycles: played,
    accepted: outcomes.reduce((sum, { accepted }) => sum + accepted.size, 0),
    events: outcomes.reduce((sum, { feed }) => sum + feed.length, 0),
    repeated_deliveries: all
      .flatMap(({ received }) => [...received.bodies.values()])
      .reduce((sum, bodies) => sum + bodies.length - 1, 0),
    repeated_calls: organizations.reduce((sum, { caller }) => sum + caller.repeats.length, 0),
    repeated_events: handled.length - new Set(handled).size,
    final_ms: Math.max(...outcomes.map(({ final_at }) => final_at)) - lastFault,
    recovered_ms: Math.max(...outcomes.map(({ delivered_at }) => delivered_at)) - lastFault,
    findings: [
      ...failed,
      ...wrong,
      ...outcomes.flatMap(Audit.findings),
      ...carriers.findings(quotes.flat()),
      ...refused,
      ...service.hosts.flatMap(({ said }) => (said().includes(Hosts.hangs) ? [Hosts.hangs] : [])),
      ...(service.cells === null ? [] : await Moves.findings(service, service.cells))
    ]
  }
}

/** The maximum number of organizations per cell: they are placed randomly, which may leave a cell without one. */
const maxPerCell = 2

/** Begins two organizations on one database. On cells, begins as many as it takes until each cell has one. */
const beginAll = async (
  { receivers: all, service: { cells, hosts, newKey, outages } }: Ground,
  onWrongOutage: (why: string) => void
): Promise<ReadonlyArray<Organization.Organization>> => {
  const calling = { base_urls: hosts.map(({ base_url }) => base_url), readers }
  if (cells === null) {
    return [
      await Organization.begin("one", await newKey("one"), calling, all),
      await Organization.begin("other", await newKey("other"), calling, all)
    ]
  }
  const organizations: Array<Organization.Organization> = []
  const used = new Set<string>()
  while (used.size < cells.names.length && organizations.length < maxPerCell * cells.names.length) {
    const name = `organization-${organizations.length + 1}`
    const home = { cell: "" }
    const onOutage = (why: string) => {
      if (!outages.excuse(cells.serversFor(home.cell))) {
        onWrongOutage(`${new Date().toISOString()} A call for ${home.cell} was refused without need: ${why}`)
      }
    }
    const begun = await Organization.begin(name, await newKey(name), { ...calling, onOutage }, all)
    home.cell = await cells.find(begun.subscription_id)
    used.add(home.cell)
    organizations.push(begun)
  }
  return organizations
}
