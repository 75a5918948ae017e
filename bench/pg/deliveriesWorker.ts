import { Change, Ids, Storage } from "@quotewire/core"
import { Publishing, Revisions, Workspaces } from "@quotewire/core/testing"
import { Effect, ManagedRuntime } from "effect"
import * as Child from "../Child.ts"
import * as postel from "../webhooks/postel.ts"
import { core, eventOf, subscribe, subscribed } from "../webhooks/subscribed.ts"
import { storage } from "./Databases.ts"

/**
 * Tells a worker process to run on a database, and to subscribe there if `subscribes` is set; to publish this many
 * events; or to stop.
 */
export type Question =
  | { readonly ask: "work"; readonly database: string; readonly url: string; readonly subscribes: boolean }
  | { readonly ask: "publish"; readonly events: number }
  | { readonly ask: "rest" }

/** How many events are committed concurrently, each in its own change. */
const commitsAtOnce = 32

interface Task {
  readonly publish: (events: number) => Promise<unknown>
  readonly rest: () => Promise<unknown>
}

const ours = async (database: string, url: string, subscribes: boolean): Promise<Task> => {
  const runtime = ManagedRuntime.make(core(storage(database)))
  const workspaceId = subscribes ? (await runtime.runPromise(subscribe(url))).workspace_id : null
  await runtime.runPromise(Storage.Storage)
  const publish = Effect.fnUntraced(function* (events: number) {
    const port = Publishing.withDeliveries(
      yield* Storage.Storage,
      yield* Revisions.Revisions,
      yield* Workspaces.Workspaces
    )
    const ids = yield* Ids.Ids
    if (workspaceId === null) return yield* Effect.die(new Error("Only who subscribes publishes"))
    const commitEvent = (type: (typeof subscribed)[number]) =>
      Effect.suspend(() => port.commit(Change.make(workspaceId, { events: [eventOf(ids.event(), type, Date.now())] })))
    const types = Array.from({ length: events / subscribed.length }, () => subscribed).flat()
    yield* Effect.forEach(types, commitEvent, { concurrency: commitsAtOnce, discard: true })
  })
  return { publish: (events) => runtime.runPromise(publish(events)), rest: () => runtime.dispose() }
}

/** Runs Postel with this many workers. An empty string means Postel's default. */
const theirs = async (database: string, url: string, workers: string): Promise<Task> => {
  const sender = await postel.start(url, {
    workers: workers === "" ? null : Number(workers),
    types: subscribed,
    database
  })
  return { publish: sender.send, rest: sender.stop }
}

let work: Task | null = null

Child.answer(async (question: Question): Promise<object> => {
  if (question.ask === "work") {
    const { database, url, subscribes } = question
    const [, , sender, workers = ""] = process.argv
    work = await (sender === "--postel" ? theirs(database, url, workers) : ours(database, url, subscribes))
  } else if (question.ask === "publish") await work?.publish(question.events)
  else await work?.rest()
  return {}
})
