import * as Chance from "../chaos/Chance.ts"
import {
  type Action,
  type Answer,
  answers,
  type Behaviour,
  type Deed,
  hintFaults,
  lines,
  receiverFaults,
  type Story,
  storageFaults
} from "./Story.ts"
import { type WorkspaceName, workspaceNames } from "./World.ts"

/** How to write a story. */
export interface StoryOptions {
  readonly requests: number
}

/** Writes the story of a seed. */
export const write = (seed: number, { requests }: StoryOptions): Story => {
  const chance = Chance.make(seed)
  const busy_ms = 25_000 + requests * 4_000
  const hosts = chance.pick([1, 2, 2, 2, 3])
  const crowd = crowdOf(chance)
  const times = (most: number, deed: () => Deed): ReadonlyArray<Action> =>
    Array.from({ length: chance.below(most + 1) }, () => ({ at: chance.below(busy_ms), ...deed() }))
  const starts = [
    ...Array.from({ length: requests }, (_, request) => startOf(chance, request, busy_ms)),
    ...crowdOfStarts(chance, crowd, requests, busy_ms)
  ]
  const actions = [
    ...starts,
    ...starts.flatMap((start) => followingOf(chance, start)),
    ...ofSubscriptions(chance, busy_ms),
    ...times(4, () => ofSandbox(chance)),
    ...ofKeys(chance, busy_ms),
    ...(hosts > 1 ? ofLeases(chance, hosts, starts) : []),
    ...times(5, () => ofHosts(chance, hosts)),
    ...times(5, () => ofSurroundings(chance, hosts))
  ].toSorted((one, other) => one.at - other.at)
  const has_limits = crowd === "meets limits"
  return {
    seed,
    hosts,
    consumes: chance.next() < 0.4,
    has_limits,
    busy_ms,
    actions: has_limits ? actions.filter((action) => !isFaultOfHosts(action)) : actions,
    carriers: { ...carriersOf(chance), ...(crowd === "opens a circuit" && { "naic:90001": [failing] }) }
  }
}

/** Many start calls for one line in one workspace; null in most stories. */
type Crowd = "meets limits" | "opens a circuit" | null

const crowdOf = (chance: Chance.Chance): Crowd => {
  const drawn = chance.next()
  return drawn < 0.07 ? "meets limits" : drawn < 0.09 ? "opens a circuit" : null
}

const isFaultOfHosts = ({ do: deed }: Action): boolean =>
  deed === "kill" || deed === "stop" || deed === "pause" || deed === "set the clock" || deed === "storage"

const failing: Behaviour = { answer: "throws", takes_ms: 20, times: 1 }

type Start = Extract<Action, { readonly do: "start" }>

/** Most requests come in bursts, so that hosts have much to do at the same moment. */
const startOf = (chance: Chance.Chance, request: number, busyMs: number): Start => {
  const start: Start = {
    at: chance.next() < 0.6 ? Math.floor(request / 6) * 20_000 + chance.below(2_000) : chance.below(busyMs),
    do: "start",
    request,
    workspace: chance.pick(workspaceNames),
    line: chance.pick(lines),
    key: chance.pick(["server", "server", "server", "platform", "widget"]),
    copies: chance.next() < 0.3 ? 2 + chance.below(2) : 1,
    lost_answers: chance.next() < 0.2 ? 1 : 0
  }
  const drawn = chance.next()
  if (drawn < 0.03) return { ...start, line: "renters", as: "one where no carrier is" }
  if (drawn < 0.06 && start.workspace.endsWith("sandbox")) return { ...start, as: "one that cannot start" }
  return start
}

/** This many failed asks of a carrier open its circuit. */
const circuitStarts = 24

const crowdOfStarts = (chance: Chance.Chance, crowd: Crowd, from: number, busyMs: number): ReadonlyArray<Start> => {
  if (crowd === null) return []
  const workspace = chance.pick(workspaceNames)
  const length = crowd === "meets limits" ? 6 : circuitStarts
  return Array.from({ length }, (_, place) => ({
    at: crowd === "meets limits" ? chance.below(2_000) : Math.floor((place * busyMs) / length),
    do: "start",
    request: from + place,
    workspace,
    line: "renters",
    key: "server",
    copies: crowd === "meets limits" ? 2 : 1,
    lost_answers: 0
  }))
}

/** What callers do with a request. */
const followingOf = (chance: Chance.Chance, { at, request }: Start): ReadonlyArray<Action> => {
  const soon = (mostMs: number) => at + chance.below(mostMs)
  const drawn = chance.next()
  if (drawn < 0.25) return [{ at: soon(8_000), do: "read", request, wait_seconds: chance.below(21) }]
  if (drawn < 0.4) return [{ at: soon(1_000), do: "cancel", request }]
  return drawn < 0.5 ? [{ at: soon(60_000), do: "erase", request }] : []
}

const ofSubscriptions = (chance: Chance.Chance, busyMs: number): ReadonlyArray<Action> =>
  Array.from({ length: 1 + chance.below(4) }, (_, subscription) => {
    const at = chance.next() < 0.6 ? 0 : chance.below(busyMs / 2)
    const later = () => at + 1 + chance.below(busyMs - at)
    const create: Action = {
      at,
      do: "subscribe",
      subscription,
      workspace: chance.pick(workspaceNames),
      receiver: subscription,
      types: chance.pick(["all", "all", "ends", "quotes"])
    }
    const deeds = ["rotate", "disable", "send a test", "replay a delivery"] as const
    const changes = deeds.flatMap(
      (deed): ReadonlyArray<Action> => (chance.next() < 0.2 ? [{ at: later(), do: deed, subscription }] : [])
    )
    return [create, ...changes]
  }).flat()

const ofSandbox = (chance: Chance.Chance): Deed => {
  const workspace: WorkspaceName = chance.pick(["acme sandbox", "bolt sandbox"])
  const drawn = chance.next()
  if (drawn < 0.5) return { do: "advance", workspace, seconds: chance.pick([1, 30, 300, 7_200, 100_000]) }
  if (drawn < 0.65) return { do: "reset", workspace }
  return { do: drawn < 0.85 ? "force expiry" : "replay events", workspace }
}

/** A key is replaced while it is in use. */
const ofKeys = (chance: Chance.Chance, busyMs: number): ReadonlyArray<Action> => {
  if (chance.next() < 0.5) return []
  const workspace = chance.pick(workspaceNames)
  const at = chance.below(busyMs)
  const uses = Array.from(
    { length: 2 + chance.below(6) },
    (): Action => ({ at: Math.max(0, at - 3_000 + chance.below(9_000)), do: "use the spare key", workspace })
  )
  return [{ at, do: "rotate a key", workspace }, ...uses]
}

/** A host pauses for longer than a lease while it works on a request. */
const ofLeases = (chance: Chance.Chance, hosts: number, starts: ReadonlyArray<Start>): ReadonlyArray<Action> => {
  const start = starts[chance.below(starts.length)]
  if (start === undefined || chance.next() < 0.6) return []
  const for_ms = 31_000 + chance.below(20_000)
  return [{ at: start.at + 5 + chance.below(1_500), do: "pause", host: chance.below(hosts), for_ms }]
}

const ofHosts = (chance: Chance.Chance, hosts: number): Deed => {
  const host = chance.below(hosts)
  const drawn = chance.next()
  if (drawn < 0.5) return { do: "kill", host, after_steps: chance.below(60), down_ms: chance.below(40_000) }
  if (drawn < 0.6) return { do: "stop", host, down_ms: chance.below(20_000) }
  if (drawn < 0.85) return { do: "pause", host, for_ms: chance.pick([500, 10_000, 40_000, 70_000]) }
  return { do: "set the clock", host, apart_ms: chance.pick([-30_000, -1_000, 1_000, 30_000]) }
}

const ofSurroundings = (chance: Chance.Chance, hosts: number): Deed => {
  const for_ms = 100 + chance.below(30_000)
  const drawn = chance.next()
  if (drawn < 0.5) {
    const host = chance.next() < 0.5 ? null : chance.below(hosts)
    return { do: "storage", how: chance.pick(storageFaults), host, for_ms }
  }
  if (drawn < 0.65) {
    const host = chance.next() < 0.5 ? null : chance.below(hosts)
    return { do: "hints", how: chance.pick(hintFaults), host, for_ms }
  }
  if (drawn < 0.9)
    return { do: "receiver", receiver: chance.below(2), how: chance.pick(receiverFaults), for_ms: 4 * for_ms }
  return drawn < 0.95 ? { do: "name servers are down", for_ms } : { do: "consumers fail", for_ms }
}

/**
 * How the carriers behave in one story: mostly each differently, sometimes all alike, so that requests end in every way.
 */
const moodOf = (chance: Chance.Chance): readonly [Answer, ...ReadonlyArray<Answer>] | null =>
  chance.next() < 0.7
    ? null
    : chance.pick<readonly [Answer, ...ReadonlyArray<Answer>]>([
        ["declines"],
        ["declines", "hangs"],
        ["declines", "declines", "offers"],
        ["hangs", "gives no answer", "throws"],
        ["asks a question"],
        ["asks a question", "declines"],
        ["offers"],
        ["an offer that expires", "an offer that is refreshed"]
      ])

const carriersOf = (chance: Chance.Chance): Story["carriers"] => {
  const mood = moodOf(chance)
  const behaviour = (): Behaviour => ({
    answer: mood === null ? (chance.next() < 0.45 ? "offers" : chance.pick(answers)) : chance.pick(mood),
    takes_ms: chance.next() < 0.8 ? 20 + chance.below(2_000) : chance.below(16_000),
    times: 1 + chance.below(3)
  })
  const all = () => Array.from({ length: 8 }, behaviour)
  return {
    "naic:90001": all(),
    "naic:90002": all(),
    "naic:90003": all(),
    "naic:90004": all(),
    "naic:90005": all(),
    "naic:90006": all(),
    "naic:90007": all()
  }
}
