import { createHmac, createSecretKey, randomBytes } from "node:crypto"
import { Change, Ids, Signature, Storage, WebhookSender } from "@quotewire/core"
import { Delivery, Publishing, Revisions, Workspaces } from "@quotewire/core/testing"
import { NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, ManagedRuntime } from "effect"
import { Mac } from "effect/crypto"
import { Agent } from "undici"
import * as Child from "../Child.ts"
import * as Contest from "../contest.ts"
import * as Flags from "../flags.ts"
import { newId } from "../peers/Peer.ts"
import { print, rivalCells, type Table } from "../report.ts"
import { medianOf } from "../statistics.ts"
import { sideBySide, type Timing, timed } from "../timed.ts"
import { arrival, arrived } from "./arrival.ts"
import * as postel from "./postel.ts"
import type { Arrivals, ListeningAddress } from "./receiver.ts"
import { atOnce, body, core, eventOf, settings, subscribe, subscribed } from "./subscribed.ts"

/** Tells a contender to make this many deliveries to the receiver. */
interface Task {
  readonly url: string
  readonly deliveries: number
}

/** The result of one round of one contender. */
interface Round extends Contest.Round {
  /** The share of its core that the receiver used. Near 1, the receiver would be the bottleneck. */
  readonly receiver_cpu: number
}

/** A contender's results over all rounds. */
export type Row = Contest.Result & Pick<Round, "receiver_cpu">

/** The maximum number of waiting deliveries. There is always a queue, but never a long one. */
const maxOpen = 1_200

/** The baseline. Signs and posts with undici, and does nothing else. */
const bare = async ({ url, deliveries }: Task): Promise<Timing> => {
  const agent = new Agent({ connections: atOnce })
  const secret = createSecretKey(randomBytes(Signature.secretBytes))
  const post = async () => {
    const id = newId("evt")
    const timestamp = Math.floor(Date.now() / 1e3)
    const tag = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")
    const headers = {
      "content-type": "application/json",
      "user-agent": NodeWebhookSender.defaultUserAgent,
      ...Signature.headersOf({ id, timestamp, signature: `v1,${tag}` })
    }
    const answer = await agent.request({ origin: url, path: "/hook", method: "POST", headers, body })
    await answer.body.dump()
    if (answer.statusCode !== 204) throw new Error(`The receiver returned ${answer.statusCode}`)
  }
  const took = await timed(() => sideBySide(deliveries, atOnce, post))
  await agent.close()
  return took
}

/** Signs a body and sends it through the webhook sender, without a core. */
const sendOne = (url: string, secret: string, keys: Signature.Keys) =>
  Effect.gen(function* () {
    const mac = yield* Mac.Mac
    const sender = yield* WebhookSender.WebhookSender
    const id = newId("evt")
    const timestamp = Math.floor(Date.now() / 1e3)
    const signature = yield* Signature.sign(mac, [secret], id, timestamp, body, keys)
    const headers = { "content-type": "application/json", ...Signature.headersOf({ id, timestamp, signature }) }
    const outcome = yield* sender.send({ url, headers, body })
    if (!WebhookSender.isConfirmed(outcome))
      return yield* Effect.die(new Error(`Sending has failed: ${outcome.failure}`))
  })

const senderAlone = async ({ url, deliveries }: Task): Promise<Timing> => {
  const runtime = ManagedRuntime.make(Layer.merge(NodeWebhookSender.layer(settings), NodeCrypto.layer))
  const keys = Signature.noKeys()
  const one = sendOne(`${url}/hook`, Signature.makeSecret(randomBytes(Signature.secretBytes)), keys)
  let remaining = deliveries
  const lane = Effect.whileLoop({ while: () => remaining-- > 0, body: () => one, step: () => {} })
  const lanes = Effect.forEach(Array.from({ length: atOnce }), () => lane, { concurrency: atOnce, discard: true })
  await runtime.runPromise(Effect.void)
  const took = await timed(() => runtime.runPromise(lanes))
  await runtime.dispose()
  return took
}

/** How many deliveries the storage has recorded as finished. */
interface Progress {
  over: number
}

/** Storage in memory that counts finished deliveries, so that nobody has to query each delivery. */
const counting = (progress: Progress): Layer.Layer<Storage.Storage> =>
  Layer.effect(
    Storage.Storage,
    Effect.map(Storage.Storage, (storage) => ({
      ...storage,
      commit: (change: Change.Change) =>
        Effect.tap(storage.commit(change), () =>
          Effect.sync(() => {
            for (const { kind, status } of change.writes) {
              if (kind === "delivery" && status === "closed") progress.over += 1
            }
          })
        )
    }))
  ).pipe(Layer.provide(MemoryStorage.layer))

type WorkspaceId = Change.Change["workspace_id"]

/** Commits as many events as there are deliveries to make, with one event of each type in a change. */
const publish = Effect.fnUntraced(function* (workspaceId: WorkspaceId, deliveries: number, progress: Progress) {
  const storage = Publishing.withDeliveries(
    yield* Storage.Storage,
    yield* Revisions.Revisions,
    yield* Workspaces.Workspaces
  )
  const ids = yield* Ids.Ids
  let published = 0
  while (published < deliveries) {
    while (published - progress.over > maxOpen) yield* Effect.sleep(1)
    const at = Date.now()
    const events = subscribed.slice(0, deliveries - published).map((type) => eventOf(ids.event(), type, at))
    yield* storage.commit(Change.make(workspaceId, { events }))
    published += events.length
  }
  while (progress.over < deliveries) yield* Effect.sleep(1)
})

/** Counts the deliveries in a subscription's log that succeeded on their first attempt. */
const succeeded = Effect.fnUntraced(function* (workspace_id: WorkspaceId, parent: string) {
  const storage = yield* Storage.Storage
  let count = 0
  let after: string | null = null
  do {
    const page: Effect.Success<ReturnType<typeof storage.page>> = yield* storage.page({
      workspace_id,
      kind: "delivery",
      parent,
      order: "oldest",
      after,
      limit: 1_000
    })
    const deliveries = page.records.map(Delivery.kind.value)
    count += deliveries.filter(({ status, attempts }) => status === "succeeded" && attempts.length === 1).length
    after = page.next
  } while (after !== null)
  return count
})

/** Publishes events, and waits until the log shows that every delivery succeeded. */
const endToEnd = async ({ url, deliveries }: Task): Promise<Timing> => {
  const progress: Progress = { over: 0 }
  const runtime = ManagedRuntime.make(core(counting(progress)))
  const { workspace_id, ids } = await runtime.runPromise(subscribe(url))
  const took = await timed(() => runtime.runPromise(publish(workspace_id, deliveries, progress)))
  const counts = await runtime.runPromise(Effect.forEach(ids, (id) => succeeded(workspace_id, id)))
  await runtime.dispose()
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total !== deliveries) throw new Error(`The log has ${total} successes of ${deliveries} deliveries`)
  return took
}

const base = "undici, signed"
/** The share of the other contenders' deliveries that Postel makes, because making all of them would take too long. */
const postelShare = 1 / 20

/** Measures Postel with its storage in memory. */
const throughPostel =
  (workers: number | null) =>
  async ({ url, deliveries }: Task): Promise<Timing> => {
    const sender = await postel.start(url, { workers, types: subscribed, database: null })
    const arrivedBefore = await arrived(url)
    const took = await timed(async () => {
      await sender.send(deliveries)
      await arrival(url, arrivedBefore + deliveries)
    })
    await sender.stop()
    return took
  }

const postels = postel.settings.map(
  ({ name, workers }) => [`Postel, in memory, ${name}`, throughPostel(workers)] as const
)

const contenders: Contest.Contenders<Task> = new Map([
  ["Quotewire, from event to log", endToEnd],
  [base, bare],
  ["Quotewire's sender alone", senderAlone],
  ...(postel.isThere ? postels : [])
])

const measure = async (contender: Child.Child, receiver: Child.Child, task: Task): Promise<Round> => {
  await contender.ask<Timing>({ ...task, deliveries: task.deliveries / 4 })
  const countsBefore = await receiver.ask<Arrivals>({ ask: "got" })
  const took = await contender.ask<Timing>(task)
  const countsAfter = await receiver.ask<Arrivals>({ ask: "got" })
  const arrived = countsAfter.posts - countsBefore.posts
  if (arrived !== task.deliveries) throw new Error(`${arrived} of ${task.deliveries} deliveries have arrived`)
  return {
    per_second: task.deliveries / took.seconds,
    cpu_us: took.cpu_us / task.deliveries,
    receiver_cpu: (countsAfter.cpu_us - countsBefore.cpu_us) / 1e6 / took.seconds
  }
}

/** Measures signed deliveries per second. */
export const run = async (flags: Flags.Flags): Promise<ReadonlyArray<Row>> => {
  const receiver = Child.start("webhooks/receiver.ts", Child.cores.load)
  const deliveriesOf = (name: string) =>
    (flags.quick ? 4_000 : 12_000) * (postels.some(([postel]) => postel === name) ? postelShare : 1)
  try {
    const { url } = await receiver.ask<ListeningAddress>({ ask: "listen" })
    return await Contest.run(
      {
        title: "deliveries",
        script: "webhooks/throughput.ts",
        contenders,
        base,
        measure: (name, contender) => measure(contender, receiver, { url, deliveries: deliveriesOf(name) })
      },
      flags,
      (result, rounds) => ({ ...result, receiver_cpu: medianOf(rounds, ({ receiver_cpu }) => receiver_cpu) })
    )
  } finally {
    await receiver.stop()
  }
}

/** Formats the results as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): Table => ({
  name: "deliveries",
  title: `Signed webhook deliveries (${Buffer.byteLength(body)} bytes, ${atOnce} at a time)`,
  columns: [
    "sender",
    "deliveries/s",
    "throughput, undici = 1",
    "CPU per delivery",
    "per CPU second, undici = 1",
    "receiver's core"
  ],
  rows: rows.map((row) => [...rivalCells(row), `${Math.round(row.receiver_cpu * 100)} %`]),
  how: "rounds of 12,000 deliveries after 3,000",
  numbers: rows
})

const main = async (): Promise<void> => {
  const rows = await run(Flags.read())
  print(tableOf(rows))
  console.log(JSON.stringify(rows, null, 2))
}

if (import.meta.main) {
  if (process.send === undefined) await main()
  else Contest.answer(contenders)
}
