import { Quotewire } from "@quotewire/core"
import { type Effect, Exit } from "effect"
import * as Chance from "../chaos/Chance.ts"
import * as Deeds from "./Deeds.ts"
import * as Hosts from "./Hosts.ts"
import * as Invariants from "./Invariants.ts"
import * as Ledger from "./Ledger.ts"
import * as Machine from "./Machine.ts"
import * as Observer from "./Observer.ts"
import * as Receivers from "./Receivers.ts"
import * as Service from "./Service.ts"
import * as SimulatedCarriers from "./SimulatedCarriers.ts"
import type * as SimulatedStorage from "./SimulatedStorage.ts"
import * as States from "./States.ts"
import { type Action, lineOf, type Story } from "./Story.ts"
import * as Weather from "./Weather.ts"
import { beginsAt, type Workspaces, workspaceNames } from "./World.ts"

/** The outcome of a story. */
export interface Played {
  /** Everything that is wrong, in sentences; empty if every promise was kept. */
  readonly findings: ReadonlyArray<string>
  /** The states, transitions and faults that were reached. */
  readonly reached: ReadonlySet<string>
  /** A digest of everything that happened: the same for the same story. */
  readonly trace: string
  /** What the outside saw, and what could finally be read; null if nothing could be. */
  readonly ledger: Ledger.Ledger
  readonly readings: Observer.Readings | null
}

/** The storage of a story, with its organizations. */
export interface Ground {
  readonly storage: SimulatedStorage.Open
  readonly workspaces: Workspaces
  /** Everything that is stored, as text. */
  readonly texts?: () => ReadonlyArray<string>
}

/** How often to check at the end whether everything is finished, and how long limits, requests and leases may take. */
const lookEveryMs = 15_000
const settleMs = 600_000
/** How far the time jumps while webhooks are retried. */
const retriesMs = [300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000]
/** How long a person may take to answer a question. */
const questionMs = 100_000_000

/**
 * Lets time pass until nothing is open, and skips the hours in which everything waits. Returns what remains open even
 * then.
 */
const comeToRest = (machine: Machine.Machine, look: () => Observer.Open): ReadonlyArray<string> => {
  const settle = () => {
    let open = look()
    for (const end = machine.now() + settleMs; open.soon.length > 0 && machine.now() < end; open = look()) {
      machine.runUntil(machine.now() + lookEveryMs)
    }
    return open
  }
  let open = settle()
  // The end of a question is an event, whose delivery may be retried in turn.
  const jumpsMs = [...retriesMs, questionMs, ...retriesMs, questionMs]
  for (let jump = 0; open.soon.length === 0 && open.later.length > 0 && jump < jumpsMs.length; jump++) {
    if (!open.isRetrying) jump = Math.max(jump, jumpsMs.indexOf(questionMs, jump))
    machine.jump(jumpsMs[jump] ?? questionMs)
    machine.runUntil(machine.now() + lookEveryMs)
    open = settle()
  }
  return [...open.soon, ...open.later]
}

/** Plays a story to its end, and judges it. `watch` observes the states of stored records. */
export const play = (story: Story, ground: Ground, watch: States.Watch = States.unwatched): Played => {
  // Errors are answers here, and most of their cost is the stack trace.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return playUntraced(story, ground, watch)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

const playUntraced = (story: Story, { storage, texts, workspaces }: Ground, watch: States.Watch): Played => {
  const chance = Chance.make(story.seed)
  const ledger = Ledger.make()
  const machine = Machine.make(chance, beginsAt)
  const weather = Weather.make(story.actions, () => machine.now() - beginsAt, story.busy_ms)
  const shared = storage({ machine, chance, ledger, weather, see: watch(ledger) })
  const carriers = SimulatedCarriers.make(story, machine, ledger, (id, callback) => callBack(id, callback, 0))
  const sender = Receivers.sender(machine, chance, ledger, weather)
  const hosts = Hosts.make({ machine, chance, ledger, weather, storage: shared, carriers, sender, story })
  const caller = machine.start("callers")
  const service = Service.make(machine, caller, hosts, { chance, ledger })

  /** A carrier repeats a callback that nobody accepted. */
  const callBack: (...callback: [...Parameters<SimulatedCarriers.SendCallback>, tries: number]) => void = (
    id,
    callback,
    tries
  ) => {
    const again = () => {
      if (tries < 5) machine.later(5_000, null, () => callBack(id, callback, tries + 1))
    }
    const isUp = hosts[chance.below(hosts.length)]?.run(Quotewire.carrierCallback(id, callback), (exit) => {
      if (Exit.isFailure(exit)) again()
    })
    if (isUp !== true) again()
  }

  /** Runs an effect of the callers until it has ended, or the time is over. */
  const await_ = <A>(effect: Effect.Effect<A>, atMostMs: number): A | null => {
    let ended: A | null = null
    caller.run(effect, (exit) => {
      if (Exit.isSuccess(exit)) ended = exit.value
      else ledger.wrong.push(`A reader has failed: ${String(exit.cause)}`)
    })
    for (const end = machine.now() + atMostMs; ended === null && machine.now() < end; ) {
      machine.runUntil(Math.min(end, machine.now() + 1_000))
    }
    return ended
  }

  for (const host of hosts) host.start()
  machine.runUntil(beginsAt + 2_000)
  let isOver = false
  let following: number = workspaceNames.length
  for (const name of workspaceNames) {
    const followed: Ledger.Followed = []
    ledger.followed.set(name, followed)
    caller.run(
      Observer.follow(service, workspaces[name].server, followed, () => isOver),
      () => {
        following--
      }
    )
  }
  const running = new Set<Action>()
  const deeds = { machine, ledger, service, workspaces }
  for (const action of story.actions) {
    machine.later(action.at, null, () => {
      strike(action, hosts)
      running.add(action)
      caller.run(Deeds.perform(deeds, action), (exit) => {
        running.delete(action)
        if (Exit.isSuccess(exit) && exit.value !== Deeds.nothing) ledger.reached.add(`deed: ${action.do}`)
      })
    })
  }
  machine.runUntil(machine.now() + story.busy_ms + 1_000)
  for (const host of hosts) host.start()

  const look = (): Observer.Open => {
    const waiting = [...running].map((action) => `somebody waits: ${lineOf(action).trim()}`)
    const open = await_(Observer.findOpen(service, workspaces, ledger), 60_000)
    return open === null
      ? { soon: [...waiting, "nobody answers"], later: [], isRetrying: false }
      : { ...open, soon: [...waiting, ...open.soon] }
  }
  const open = comeToRest(machine, look)
  isOver = true
  ledger.ended_at = machine.now()
  for (const end = machine.now() + settleMs; following > 0 && machine.now() < end; ) {
    machine.runUntil(machine.now() + 1_000)
  }
  if (story.consumes) waitForConsumers(machine, ledger)
  const readings = await_(Observer.readAll(service, workspaces, ledger, machine.now()), 120_000)
  if (readings !== null) States.noteReadings(ledger, readings)
  const findings = [
    ...(following === 0 ? [] : ["A reader who follows a feed does not come to its end"]),
    ...ledger.wrong,
    ...open.map((one) => `After a quiet time, ${one}`),
    ...(texts === undefined ? [] : Invariants.ofStored(story, ledger, texts())),
    ...(readings === null ? ["Nobody could read in the end"] : Invariants.findings(story, ledger, readings, workspaces))
  ]
  return { findings, reached: ledger.reached, trace: traceOf(ledger, machine), ledger, readings }
}

/** A consumer takes over from a dead host when the host's lease ends, by clocks that are up to 30 s apart. */
const longestLeaseMs = 100_000

/**
 * Lets time pass until consumers have handled every event, or could have: events that were erased earlier are never
 * handled.
 */
const waitForConsumers = (machine: Machine.Machine, { committed, handled }: Ledger.Ledger): void => {
  const isDone = () => {
    const seen = new Set<string>(handled.map(({ event_id }) => event_id))
    return committed.every(({ id }) => seen.has(id))
  }
  for (const end = machine.now() + longestLeaseMs; !isDone() && machine.now() < end; ) {
    machine.runUntil(machine.now() + 1_000)
  }
}

/** The faults that strike hosts. */
const strike = (action: Action, hosts: ReadonlyArray<Hosts.Host>) => {
  switch (action.do) {
    case "kill":
      return hosts[action.host]?.kill(action.down_ms, action.after_steps)
    case "stop":
      return hosts[action.host]?.stop(action.down_ms)
    case "pause":
      return hosts[action.host]?.pause(action.for_ms)
    case "set the clock":
      return hosts[action.host]?.setClockApart(action.apart_ms)
    default:
      return
  }
}

const traceOf = ({ accepted, asks, committed, handled, received }: Ledger.Ledger, machine: Machine.Machine): string =>
  [
    machine.steps(),
    ...committed.map(({ id, step }) => `${step} ${id}`),
    ...accepted.map(({ answered, id }) => `${answered.step} ${id}`),
    ...asks.map(({ key, step }) => `${step} ${key}`),
    ...received.map(({ headers, step }) => `${step} ${headers["webhook-signature"]}`),
    ...handled.map(({ event_id, step }) => `${step} ${event_id}`)
  ].join("\n")
