import { Allowance, Quotewire, Seal, Storage, WebhookAddress, WebhookSender } from "@quotewire/core"
import { NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, ManagedRuntime } from "effect"
import * as Child from "../Child.ts"
import { named } from "../operations.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import { percentile } from "../statistics.ts"
import { now } from "./latencyClock.ts"
import type { Arrival, Question } from "./latencyReceiver.ts"

const create_event_subscription = named("create_event_subscription")

/** The path of the endpoints whose deliveries are measured; /hang is never answered, any other is load. */
export const counted_path = "/counted"

/** How many endpoints there are, and what is sent to them. */
export interface Plan {
  readonly workspaces: number
  /** The path of each endpoint of one workspace: at most ten. */
  readonly paths: ReadonlyArray<string>
  readonly events_per_second: number
  /** Nothing counts that was committed before this has passed. */
  readonly warm_up_seconds: number
  readonly seconds: number
}

/** What one run of a plan came to: milliseconds from the commit of an event to its arrival at the endpoints that count. */
export interface Measured {
  readonly deliveries: number
  /** Deliveries that were to arrive and had not, two seconds after the last event: as waits they are endless. */
  readonly missing: number
  readonly p50_ms: number
  readonly p90_ms: number
  readonly p99_ms: number
  /** The p99 of each five seconds: what else the machine does strikes few of them. */
  readonly p99s_ms: ReadonlyArray<number>
  readonly max_ms: number
  /**
   * The p99 of the CPU time that the service took between the commit of an event and the sending of its first attempts:
   * what an attempt has to wait for there, whatever else the machine does.
   */
  readonly cpu_p99_ms: number
  readonly events_per_second: number
  /** Share of one core that the service and the starts took. */
  readonly cpu: number
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)))

/** When the commit of each event began, by the clock and in CPU time, and what CPU time had passed when it was sent. */
interface Notes {
  readonly committed: Map<string, number>
  readonly committed_cpu: Map<string, number>
  readonly sent: Array<{ readonly event_id: string; readonly cpu_ms: number }>
}

const cpuNow = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** The storage in memory, which notes when the commit of each event began. */
const noting = ({ committed, committed_cpu }: Notes): Layer.Layer<Storage.Storage> =>
  Layer.effect(
    Storage.Storage,
    Effect.map(Storage.Storage, (storage) => ({
      ...storage,
      commit: (change) =>
        Effect.suspend(() => {
          for (const { id } of change.events) {
            committed.set(id, now())
            committed_cpu.set(id, cpuNow())
          }
          return storage.commit(change)
        })
    }))
  ).pipe(Layer.provide(MemoryStorage.layer))

/** The sender of the Node host, which notes what it is given for the endpoints that count. */
const notingSender = ({ committed_cpu, sent }: Notes): Layer.Layer<WebhookSender.WebhookSender> =>
  Layer.effect(
    WebhookSender.WebhookSender,
    Effect.map(WebhookSender.WebhookSender, (sender) => ({
      ...sender,
      send: (request) =>
        Effect.suspend(() => {
          const event_id = request.headers["webhook-id"] ?? ""
          const began = committed_cpu.get(event_id)
          if (began !== undefined && request.url.endsWith(counted_path)) {
            sent.push({ event_id, cpu_ms: cpuNow() - began })
          }
          return sender.send(request)
        })
    }))
  ).pipe(
    Layer.provide(
      NodeWebhookSender.layer({
        policy: {
          allow: WebhookAddress.readNetworks("127.0.0.0/8") ?? [],
          own_addresses: NodeWebhookSender.ownAddresses()
        }
      })
    )
  )

/** The whole core with its worker and the sender of the Node host, as `quotewire dev` wires it. */
const layerOf = (notes: Notes) =>
  Quotewire.worker.pipe(
    Layer.provideMerge(Quotewire.layer),
    Layer.provideMerge(noting(notes)),
    Layer.provide(Quotewire.sandboxCarriers),
    Layer.provide(Seal.SealKeys.layerEphemeral),
    Layer.provide(notingSender(notes)),
    Layer.provide(NodeCrypto.layer),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits))
  )

/** The receiver in its own process, and the port on which it listens. */
export const startReceiver = async () => {
  const child = Child.start("webhooks/latencyReceiver.ts", Child.cores.load)
  const ask = <Answer>(about: Question) => child.ask<Answer>({ about })
  return { port: await ask<number>("port"), arrivals: () => ask<ReadonlyArray<Arrival>>("arrivals"), stop: child.stop }
}
type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** Makes the workspaces of a plan with their subscriptions, every endpoint at an address of its own; gives their keys. */
const makeWorkspaces = Effect.fnUntraced(function* ({ workspaces, paths }: Plan, port: number) {
  const keys: Array<string> = []
  for (let workspace = 1; workspace <= workspaces; workspace++) {
    const key = yield* Service.makeKey
    for (const [index, path] of paths.entries()) {
      const url = `http://127.0.${workspace}.${index + 1}:${port}${path}`
      yield* Service.call(create_event_subscription, key, { url, event_types: ["quote_request.queued"] })
    }
    keys.push(key)
  }
  return keys
})

/** Runs a plan on a service of its own: the starts come evenly, whether or not the ones before have been delivered. */
export const measure = async (plan: Plan, receiver: Receiver): Promise<Measured> => {
  const notes: Notes = { committed: new Map(), committed_cpu: new Map(), sent: [] }
  const runtime = ManagedRuntime.make(layerOf(notes))
  const keys = await runtime.runPromise(makeWorkspaces(plan, receiver.port))
  await receiver.arrivals()
  const start = (index: number) =>
    Service.call(Service.start_quote_request, keys[index % keys.length] ?? "", {
      ...starts.smallest(`webhook-${index}`),
      scenario: "waits_in_queue"
    })
  const began = now()
  const counts_from = began + plan.warm_up_seconds * 1_000
  const events = Math.round((plan.warm_up_seconds + plan.seconds) * plan.events_per_second)
  const before = process.cpuUsage()
  for (let index = 0; index < events; index++) {
    const due = began + (index * 1_000) / plan.events_per_second
    if (due > now()) await sleep(due - now())
    runtime.runFork(start(index))
  }
  const took_us = (now() - began) * 1_000
  const { user, system } = process.cpuUsage(before)
  await sleep(2_000)
  const measured = summary(plan, await receiver.arrivals(), notes, counts_from)
  await runtime.dispose()
  return { ...measured, cpu: (user + system) / took_us }
}

const window_ms = 5_000

/** The p99 of each window, by the time of the commit; what is missing counts in the p99 of all. */
const windows = (
  { seconds }: Plan,
  arrivals: ReadonlyArray<Arrival>,
  counted: ReadonlyMap<string, number>,
  counts_from: number
): ReadonlyArray<number> =>
  Array.from({ length: Math.floor((seconds * 1_000) / window_ms) }, (_, index) => {
    const from = counts_from + index * window_ms
    const waits = arrivals.flatMap(({ event_id, path, at }) => {
      const committed_at = path === counted_path ? counted.get(event_id) : undefined
      const isIn = committed_at !== undefined && committed_at >= from && committed_at < from + window_ms
      return isIn ? [at - committed_at] : []
    })
    return percentile(Float64Array.from(waits), 0.99)
  })

const summary = (plan: Plan, arrivals: ReadonlyArray<Arrival>, { committed, sent }: Notes, counts_from: number) => {
  const { paths, seconds } = plan
  const counted = new Map([...committed].filter(([, at]) => at >= counts_from))
  const waits = arrivals.flatMap(({ event_id, path, at }) => {
    const committed_at = counted.get(event_id)
    return committed_at === undefined || path !== counted_path ? [] : [at - committed_at]
  })
  const expected = counted.size * paths.filter((path) => path === counted_path).length
  const missing = expected - waits.length
  const sorted = Float64Array.from([...waits, ...Array.from({ length: Math.max(0, missing) }, () => Infinity)])
  return {
    deliveries: waits.length,
    missing,
    p50_ms: percentile(sorted, 0.5),
    p90_ms: percentile(sorted, 0.9),
    p99_ms: percentile(sorted, 0.99),
    p99s_ms: windows(plan, arrivals, counted, counts_from),
    max_ms: percentile(sorted, 1),
    cpu_p99_ms: percentile(
      Float64Array.from(sent.flatMap(({ event_id, cpu_ms }) => (counted.has(event_id) ? [cpu_ms] : []))),
      0.99
    ),
    events_per_second: counted.size / seconds
  }
}
