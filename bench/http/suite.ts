import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import type { Cpu, ListeningAddress, SharedSettings } from "../peers/Peer.ts"
import { orderOf } from "../rounds.ts"
import { medianOf, medianRatio } from "../statistics.ts"
import type { Load, LoadResult } from "./load.ts"

/** A server that is measured. */
export interface Peer {
  readonly name: string
  readonly script: string
  readonly args?: ReadonlyArray<string>
  /** The load for this peer, if it differs from the load for the other peers. */
  readonly load?: Suite["load"]
}

/** One kind of exchange that every peer serves. */
export interface Suite {
  readonly name: string
  readonly title: string
  readonly peers: ReadonlyArray<Peer>
  /** The name of the peer that the others are compared with. */
  readonly base: string
  /** Whether every round starts new servers, because servers that store data would grow from round to round. */
  readonly anew: boolean
  readonly load: (at: ListeningAddress) => Pick<Load, "method" | "path" | "places" | "body" | "headers" | "status">
}

/** The result of one round of one peer. */
interface Round {
  readonly per_second: number
  readonly cpu_us: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly load_cpu: number
}

/**
 * A peer's results over all rounds: the median of each figure, and the median of its ratios to the base peer in the
 * same round.
 */
export interface Row extends Round {
  readonly name: string
  readonly throughput_ratio: number
  readonly cpu_ratio: number
  readonly answer_bytes: number
}

interface RunningServer {
  readonly peer: Peer
  readonly server: Child.Child
  readonly at: ListeningAddress
  readonly rounds: Array<Round>
  answer_bytes: number
}

const begin = async (peer: Peer, shared: SharedSettings, { profile }: Flags) => {
  const profiling = profile === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}/${peer.name}`]
  const server = Child.start(peer.script, Child.cores.server, {
    node: ["--max-old-space-size=4096", ...profiling],
    args: peer.args ?? []
  })
  const at = await server.ask<ListeningAddress>({ ask: "listen", shared })
  return { server, at }
}

/**
 * How many requests a new server handles before it is measured, because V8 optimizes code only after it has run often.
 */
const warmupRequests = { quick: 5_000, full: 25_000 }

const measure = async (
  toSend: Suite["load"],
  { server, at }: Pick<RunningServer, "server" | "at">,
  isNew: boolean,
  flags: Flags
) => {
  const load = Child.start("http/load.ts", Child.cores.load)
  const ask = (seconds: number, at_most: number) =>
    load.ask<LoadResult>({
      ...toSend(at),
      port: at.port,
      key: at.key,
      connections: flags.connections,
      seconds,
      at_most
    })
  await ask(isNew ? 60 : 0.5, flags.quick ? warmupRequests.quick : warmupRequests.full)
  const cpuBefore = await server.ask<Cpu>({ ask: "cpu" })
  const loaded = await ask(flags.seconds, Number.MAX_SAFE_INTEGER)
  const cpuAfter = await server.ask<Cpu>({ ask: "cpu" })
  await load.stop()
  const round: Round = {
    per_second: loaded.requests / loaded.seconds,
    cpu_us: (cpuAfter.cpu_us - cpuBefore.cpu_us) / loaded.requests,
    p50_ms: loaded.p50_ms,
    p99_ms: loaded.p99_ms,
    load_cpu: loaded.load_cpu
  }
  return { round, answer_bytes: Buffer.byteLength(loaded.sample) }
}

/** Measures the peers in turn, round after round, so that other load on the machine affects all of them. */
export const run = async (suite: Suite, shared: SharedSettings, flags: Flags): Promise<ReadonlyArray<Row>> => {
  const servers: Array<RunningServer> = []
  for (const peer of suite.peers)
    servers.push({ peer, ...(await begin(peer, shared, flags)), rounds: [], answer_bytes: 0 })
  if (suite.anew) await Promise.all(servers.map(({ server }) => server.stop()))
  try {
    for (let i = 0; i < flags.rounds; i++) {
      for (const running of orderOf(servers, i)) {
        const at = suite.anew ? await begin(running.peer, shared, flags) : running
        const { round, answer_bytes } = await measure(running.peer.load ?? suite.load, at, suite.anew || i === 0, flags)
        if (suite.anew) await at.server.stop()
        running.rounds.push(round)
        running.answer_bytes = answer_bytes
      }
      process.stderr.write(`${suite.name}: round ${i + 1} of ${flags.rounds}\n`)
    }
  } finally {
    await Promise.all(servers.map(({ server }) => server.stop()))
  }
  const base = servers.find(({ peer }) => peer.name === suite.base)
  return servers.map((running) => rowOf(running, base?.rounds ?? running.rounds))
}

const rowOf = ({ peer, rounds, answer_bytes }: RunningServer, base: ReadonlyArray<Round>): Row => {
  const middle = (pick: (round: Round) => number) => medianOf(rounds, pick)
  const ratio = (ratioOf: (round: Round, other: Round) => number) => medianRatio(rounds, base, ratioOf)
  return {
    name: peer.name,
    per_second: middle(({ per_second }) => per_second),
    throughput_ratio: ratio((round, baseRound) => round.per_second / baseRound.per_second),
    cpu_us: middle(({ cpu_us }) => cpu_us),
    cpu_ratio: ratio((round, baseRound) => baseRound.cpu_us / round.cpu_us),
    p50_ms: middle(({ p50_ms }) => p50_ms),
    p99_ms: middle(({ p99_ms }) => p99_ms),
    load_cpu: middle(({ load_cpu }) => load_cpu),
    answer_bytes
  }
}
