import { percentile } from "../statistics.ts"
import type { Cores } from "./Cores.ts"
import type { Costs } from "./Costs.ts"
import { EventQueue } from "./EventQueue.ts"
import * as F from "./Fleet.ts"
import * as World from "./World.ts"

/** What a simulation has seen after its warm-up. */
export interface Simulated {
  /** Busy cores of all servers and of all hosts. */
  readonly database_cores: number
  readonly host_cores: number
  /** The work that the busiest server was given, as a share of what its cores can do; the busy share of the busiest host. */
  readonly server_load: number
  readonly host_busy: number
  /** From the call to the committed start. */
  readonly start_p50_ms: number
  readonly start_p99_ms: number
  /** From the moment at which a job is due to the moment at which a host begins it. */
  readonly lag_p99_ms: number
  readonly changes_per_statement: number
  readonly claims_per_second: number
  readonly announcements_per_second: number
  /** Requests that have ended, as a share of those that began. Near 1 as long as the fleet keeps up. */
  readonly ended: number
}

/** How long to simulate, in seconds: first until the queues are as full as they get, then what is measured. */
export interface Span {
  readonly warm_up_s: number
  readonly measured_s: number
}

type Event =
  | { readonly is: "arrival" | "look" | "counts"; readonly host: World.Host }
  | { readonly is: "announce" | "hint"; readonly pair: World.Pair }
  | { readonly is: "written"; readonly pair: World.Pair; readonly batch: ReadonlyArray<World.Waiting> }
  | { readonly is: "answer"; readonly pair: World.Pair; readonly request: World.Request }
  | { readonly is: "claimed"; readonly host: World.Host; readonly round: Round }

/** A round of claims: the cells that are still to be asked, and what was claimed so far. */
interface Round {
  readonly left: ReadonlyArray<World.Pair>
  readonly jobs: ReadonlyArray<World.Claimed>
}

/** How often something has happened. */
interface Seen {
  statements: number
  changes: number
  claims: number
  announcements: number
  begun: number
  ended: number
}

/** Random numbers from 0 to 1, the same in every run (mulberry32). */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

/** How long a carrier takes: half a second to two seconds. */
const fastest_carrier_us = 5e5
const slowest_carrier_us = 2e6
/** Every host looks for work at least this often (`WorkLoop`). */
const poll_us = 1e6

/**
 * Runs a fleet on a virtual clock, by the rules of real hosts: changes that come while a statement is under way share the next
 * one, commits are announced to the hosts of the cell, a host asks one hinted cell after the other for work, and runs what it
 * got at the end of the round.
 */
export const simulate = (fleet: F.Fleet, costs: Costs, span: Span): Simulated =>
  new Simulation(fleet, costs, span).run()

class Simulation {
  readonly #fleet: F.Fleet
  readonly #costs: Costs
  readonly #measured_s: number
  readonly #begins_at: number
  readonly #ends_at: number
  readonly #half_trip_us: number
  readonly #random = randomFrom(1)
  readonly #world: World.World
  readonly #events = new EventQueue<Event>()
  readonly #seen: Seen = { statements: 0, changes: 0, claims: 0, announcements: 0, ended: 0, begun: 0 }
  readonly #starts: Array<number> = []
  readonly #lags: Array<number> = []
  #now = 0

  constructor(fleet: F.Fleet, costs: Costs, { measured_s, warm_up_s }: Span) {
    this.#fleet = fleet
    this.#costs = costs
    this.#measured_s = measured_s
    this.#begins_at = warm_up_s * 1e6
    this.#ends_at = this.#begins_at + measured_s * 1e6
    this.#half_trip_us = costs.round_trip_us / 2
    this.#world = World.make(fleet, this.#random)
  }

  run(): Simulated {
    for (const host of this.#world.hosts) {
      this.#events.add(this.#random() * this.#arrivals_every_us, { is: "arrival", host })
      this.#events.add(this.#random() * poll_us, { is: "look", host })
      this.#events.add(this.#random() * F.counts_every_us, { is: "counts", host })
    }
    const before = new Map<Cores, number>()
    for (let next = this.#events.take(); next !== undefined && next.at < this.#ends_at; next = this.#events.take()) {
      if (before.size === 0 && next.at >= this.#begins_at) {
        for (const cores of this.#allCores()) before.set(cores, cores.busy_us)
      }
      this.#now = next.at
      this.#handle(next.event)
    }
    return this.#result(before)
  }

  /** The time between two starts at one host. */
  get #arrivals_every_us(): number {
    return (1e6 * this.#fleet.hosts) / this.#fleet.starts_per_second
  }

  #allCores(): ReadonlyArray<Cores> {
    return [...this.#world.servers, ...this.#world.hosts.map(({ cores }) => cores)]
  }

  #note(what: keyof Seen, count = 1): void {
    if (this.#now >= this.#begins_at) this.#seen[what] += count
  }

  #handle(event: Event): void {
    switch (event.is) {
      case "arrival":
        this.#arrive(event.host)
        break
      case "look":
        this.#events.add(this.#now + poll_us, event)
        this.#look(event.host)
        break
      case "counts":
        this.#events.add(this.#now + F.counts_every_us, event)
        this.#sendCounts(event.host)
        break
      case "announce":
        this.#announce(event.pair)
        break
      case "hint":
        this.#hintOthers(event.pair)
        break
      case "written":
        this.#written(event.pair, event.batch)
        break
      case "answer":
        this.#submit(event.pair, { request: event.request, step: "answer" })
        break
      case "claimed":
        this.#claim(event.host, event.round)
        break
    }
  }

  #arrive(host: World.Host): void {
    this.#events.add(this.#now - Math.log(1 - this.#random()) * this.#arrivals_every_us, { is: "arrival", host })
    const pair = host.pairs[Math.floor(this.#random() * host.pairs.length)]
    if (pair === undefined) return
    this.#note("begun")
    pair.counts += F.counts_per_start
    this.#submit(pair, { request: { began_at: this.#now, answers: 0 }, step: "start" })
  }

  #submit(pair: World.Pair, change: World.Waiting): void {
    pair.waiting.push(change)
    this.#write(pair)
  }

  /** Sends what waits in one statement, unless one is under way. */
  #write(pair: World.Pair): void {
    if (pair.isWriting || pair.waiting.length === 0) return
    const { change_us, host_change_us, statement_us } = this.#costs.commit
    const batch = pair.waiting.splice(0, F.max_changes)
    pair.isWriting = true
    this.#note("statements")
    this.#note("changes", batch.length)
    const sent_at = pair.host.cores.use(this.#now, batch.length * host_change_us)
    this.#events.add(this.#answeredAt(pair, sent_at, statement_us + batch.length * change_us), {
      is: "written",
      pair,
      batch
    })
  }

  #answeredAt({ cell }: World.Pair, sent_at: number, work_us: number): number {
    return cell.server.use(sent_at + this.#half_trip_us, work_us) + this.#half_trip_us
  }

  #written(pair: World.Pair, batch: ReadonlyArray<World.Waiting>): void {
    pair.isWriting = false
    for (const { request, step } of batch) {
      if (step === "start" && request.began_at >= this.#begins_at) this.#starts.push(this.#now - request.began_at)
      if (step === "start") this.#addJobs(pair, request, "choice", 1)
      else if (step === "choice") this.#addJobs(pair, request, "ask", F.carriers)
      else if (++request.answers === F.carriers) this.#note("ended")
    }
    this.#write(pair)
  }

  #addJobs(pair: World.Pair, request: World.Request, step: World.Due["step"], count: number): void {
    for (let n = 0; n < count; n++) pair.cell.due.push({ at: this.#now, request, step })
    if (!pair.isAnnouncing) {
      pair.isAnnouncing = true
      this.#events.add(Math.max(this.#now, pair.announced_at + F.announce_every_us), { is: "announce", pair })
    }
    this.#hint(pair)
  }

  #announce(pair: World.Pair): void {
    pair.isAnnouncing = false
    pair.announced_at = this.#now
    this.#note("announcements")
    const { listener_us, statement_us } = this.#costs.hint
    const work_us = statement_us + pair.cell.pairs.length * listener_us
    this.#events.add(this.#answeredAt(pair, this.#now, work_us), { is: "hint", pair })
  }

  #hintOthers(from: World.Pair): void {
    for (const pair of from.cell.pairs) {
      if (pair === from) continue
      pair.host.cores.use(this.#now, this.#costs.hint.host_us)
      this.#hint(pair)
    }
  }

  #hint(pair: World.Pair): void {
    pair.isHinted = true
    this.#look(pair.host)
  }

  /** Begins a round of claims if a cell may have work, and none is under way. */
  #look(host: World.Host): void {
    if (host.isClaiming) return
    const turned = [...host.pairs.slice(host.first), ...host.pairs.slice(0, host.first)]
    const left = turned.filter(({ asked_at, isHinted }) => isHinted || this.#now - asked_at >= F.look_again_us)
    if (left.length === 0) return
    host.first = (host.first + 1) % host.pairs.length
    host.isClaiming = true
    this.#claim(host, { left, jobs: [] })
  }

  /** Asks the next cell of a round; runs the jobs if there is none. */
  #claim(host: World.Host, { jobs, left: [pair, ...left] }: Round): void {
    if (pair === undefined || jobs.length >= F.max_jobs) {
      this.#runJobs(host, jobs)
      return
    }
    this.#note("claims")
    const found = pair.cell.due.splice(0, F.max_jobs - jobs.length)
    pair.isHinted = pair.cell.due.length > 0
    pair.asked_at = this.#now
    const { host_us, job_us, statement_us } = this.#costs.claim
    const asked_at = host.cores.use(this.#now, host_us)
    this.#events.add(this.#answeredAt(pair, asked_at, statement_us + found.length * job_us), {
      is: "claimed",
      host,
      round: { left, jobs: [...jobs, ...found.map((due) => ({ ...due, pair }))] }
    })
  }

  #runJobs(host: World.Host, jobs: ReadonlyArray<World.Claimed>): void {
    host.isClaiming = false
    for (const { at, pair, request, step } of jobs) {
      if (at >= this.#begins_at) this.#lags.push(this.#now - at)
      if (step === "choice") this.#submit(pair, { request, step })
      else {
        const takes_us = fastest_carrier_us + this.#random() * (slowest_carrier_us - fastest_carrier_us)
        this.#events.add(this.#now + takes_us, { is: "answer", pair, request })
      }
    }
    this.#look(host)
  }

  /** Adds what a host has counted, in each cell with one statement, or several if it is much. */
  #sendCounts(host: World.Host): void {
    const { count_us, statement_us } = this.#costs.counts
    for (const pair of host.pairs) {
      const statements = Math.ceil(pair.counts / F.max_counts)
      pair.cell.server.use(this.#now, statements * statement_us + pair.counts * count_us)
      pair.counts = 0
    }
  }

  #result(before: ReadonlyMap<Cores, number>): Simulated {
    const busyCores = (cores: Cores) => (cores.busy_us - (before.get(cores) ?? 0)) / (this.#measured_s * 1e6)
    const servers = this.#world.servers.map(busyCores)
    const hosts = this.#world.hosts.map(({ cores }) => busyCores(cores))
    const ms = (times: ReadonlyArray<number>, share: number) => percentile(Float64Array.from(times), share) / 1e3
    const { announcements, begun, changes, claims, ended, statements } = this.#seen
    return {
      database_cores: sum(servers),
      host_cores: sum(hosts),
      server_load: Math.max(...servers) / this.#fleet.cores_per_server,
      host_busy: Math.max(...hosts),
      start_p50_ms: ms(this.#starts, 0.5),
      start_p99_ms: ms(this.#starts, 0.99),
      lag_p99_ms: ms(this.#lags, 0.99),
      changes_per_statement: changes / statements,
      claims_per_second: claims / this.#measured_s,
      announcements_per_second: announcements / this.#measured_s,
      ended: ended / begun
    }
  }
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, one) => total + one, 0)
