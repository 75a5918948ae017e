// Compiles schemas to code, as the `quotewire` command does on startup.
import "effect/schema/SchemaJITCompiler/enable"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { Session } from "node:inspector"
import { setTimeout } from "node:timers/promises"
import { Access, Carrier, Money, operations, Quotewire, Seal, Storage, WebhookAddress } from "@quotewire/core"
import { Http, NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, ManagedRuntime } from "effect"

/*
 * Counts how many files take part in each of three journeys: starting a quote request, a carrier's answer, and a
 * webhook delivery. `npx node scripts/journeys.ts` prints a table; `--files` also prints the names.
 *
 * A file counts if one of its functions ran; loading the file alone does not count. V8 reports which functions ran
 * (precise coverage). One process is host, worker, client, carrier and endpoint. Each journey is made once before any
 * is counted, so that secrets are in memory and connections are open. By then, the API key has been unused for more than
 * a second, so the counted start looks it up again.
 */

/** How long to wait for the follow-up work of a journey, such as writing the request log, in milliseconds. */
const settleMs = 700

/** Finds the module at an offset in a bundle, such as `core/quoting/Quote`. A comment precedes each module. */
const modulesOf = (bundle: URL): ((offset: number) => string | undefined) => {
  const comments = readFileSync(bundle, "utf8").matchAll(/^\/\/ packages\/([\w-]+)\/dist\/(.*)\.js$/gm)
  const places = Array.from(comments, ({ index, 1: name, 2: path }) => ({ index, module: `${name}/${path}` }))
  return (offset) => places.findLast(({ index }) => index <= offset)?.module
}

/**
 * Creates a function that returns the package files in which a function ran since the last call, such as
 * `core/quoting/Quote`.
 */
const coverage = () => {
  const bundles = new Map<string, ReturnType<typeof modulesOf>>()
  const session = new Session()
  session.connect()
  session.post("Profiler.enable")
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  return (): ReadonlyArray<string> => {
    const files = new Set<string>()
    // The callback runs synchronously, because the session belongs to this thread.
    session.post("Profiler.takePreciseCoverage", (failed, taken) => {
      if (failed !== null) throw failed
      for (const { url, functions } of taken.result) {
        if (!/packages\/[\w-]+\/dist\/bundle\//.test(url)) continue
        const moduleAt = bundles.get(url) ?? modulesOf(new URL(url))
        bundles.set(url, moduleAt)
        for (const {
          functionName,
          ranges: [range]
        } of functions) {
          const isWholeBundle = functionName === "" && range?.startOffset === 0
          const hasRun = !isWholeBundle && (range?.count ?? 0) > 0
          const module = range && hasRun ? moduleAt(range.startOffset) : undefined
          if (module !== undefined) files.add(module)
        }
      }
    })
    return [...files].sort()
  }
}

const takeRan = coverage()

/** Lets the worker claim one job at a time, and reports which files ran until the end of that job was stored. */
const gate = () => {
  const listeners = new Set<(hint: { readonly about: "everything" }) => void>()
  let isOpen = false
  let finished = (_ran: ReadonlyArray<string>) => {}
  const nothing = Effect.succeed({ jobs: [], next_due_at: null, busy: false })
  const wrap = (storage: Storage.Storage["Service"]) =>
    Storage.Storage.of({
      ...storage,
      claim: (query) =>
        Effect.suspend(() => {
          if (!isOpen) return nothing
          return Effect.tap(storage.claim(query), ({ jobs }) => {
            isOpen = jobs.length === 0
            return Effect.void
          })
        }),
      commit: (change) =>
        Effect.tap(storage.commit(change), () => {
          if (change.finishes.length > 0) finished(takeRan())
          return Effect.void
        }),
      watch: (listener) => {
        listeners.add(listener)
        return storage.watch(listener)
      }
    })
  const runNextJob = async () => {
    await setTimeout(settleMs)
    return new Promise<ReadonlyArray<string>>((resolve) => {
      finished = resolve
      takeRan()
      isOpen = true
      for (const listener of listeners) listener({ about: "everything" })
    })
  }
  return { wrap, runNextJob }
}

const { wrap, runNextJob } = gate()

/** A carrier that insures renters in New York at one price. */
const carrier: Carrier.CarrierAdapter = {
  carrier: { id: "naic:00000", name: "One Price Mutual", registry_ids: ["naic:00000"] },
  environments: ["live"],
  lines: {
    renters: {
      states: ["NY"],
      needs: [],
      uses_credit: false,
      mode: "sync",
      idempotent: true,
      attempt_timeout_ms: 5_000,
      typical_ms: 500,
      hedge_after_ms: null,
      rate_per_minute: 60,
      max_concurrent: 4
    }
  },
  handoff_hosts: ["oneprice.example"],
  ask: (ask) =>
    Effect.succeed({
      kind: "offers",
      offers: [
        {
          offer_ref: ask.idempotency_key,
          product: "One Price Renters",
          premium: Money.dollars(180),
          term_months: 12,
          billing_cycle: "pay_in_full",
          fees: [],
          conditions: [],
          subjects: [
            {
              subject_id: "dwelling-1",
              kind: "dwelling",
              label: null,
              coverages: [{ code: "liability", limit: Money.dollars(100_000), deductible: null, included: true }]
            }
          ],
          assumptions: ask.assumptions,
          expires_at: null,
          evidence_label: "Price from the carrier's tariff",
          handoff_url: `https://oneprice.example/quotes/${ask.idempotency_key}`
        }
      ]
    })
}

const service = Http.layer<Quotewire.Services>({ operations, port: 0 }).pipe(
  Layer.provideMerge(Quotewire.worker),
  Layer.provideMerge(Quotewire.layer),
  Layer.provide(Layer.effect(Storage.Storage, Effect.map(Storage.Storage, wrap))),
  Layer.provide(MemoryStorage.layer),
  Layer.provide(Layer.succeed(Carrier.CarrierAdapters, [carrier])),
  Layer.provide(Seal.SealKeys.layerEphemeral),
  Layer.provide(
    NodeWebhookSender.layer({
      policy: { allow: WebhookAddress.readNetworks("127.0.0.0/8") ?? [], own_addresses: [] }
    })
  ),
  Layer.provide(NodeCrypto.layer),
  Layer.orDie
)

/** Starts the service, and creates a caller that has subscribed to new quotes. */
const open = async (runtime: ManagedRuntime.ManagedRuntime<Http.Host | Access.Access, never>, endpoint: string) => {
  const { port, key } = await runtime.runPromise(
    Effect.gen(function* () {
      const access = yield* Access.Access
      const { id: organization_id } = yield* access.createOrganization("Journeys")
      const { key } = yield* access.createKey({ organization_id, environment: "live", kind: "server" })
      return { port: (yield* Http.Host).port, key }
    }).pipe(Effect.orDie)
  )
  const post = async (path: string, idempotencyKey: string, body: object) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey
    }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body)
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(text)
  }
  await post("/v1/event-subscriptions", "subscription-1", { url: endpoint, event_types: ["quote.created"] })
  return post
}

/** Plays the three journeys one after another. */
const play = async (post: Awaited<ReturnType<typeof open>>, name: string) => {
  await setTimeout(settleMs)
  takeRan()
  await post("/v1/quote-requests", name, {
    line: "renters",
    request_key: name,
    consent_receipt_id: "receipt-0001",
    application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
  })
  const start = takeRan()
  await runNextJob()
  return { "a start call": start, "a carrier's answer": await runNextJob(), "a delivery": await runNextJob() }
}

/** The room that a file belongs to: a folder of the core, or another package. */
const roomOf = (file: string): string => {
  const [name = "", room = "", ...rest] = file.split("/")
  if (name !== "core") return name
  return rest.length === 0 ? "the root" : `${room}/`
}

const endpoint = createServer((_request, response) => response.end()).listen(0, "127.0.0.1")
// Keeps the connection open, because a delivery is counted on an open connection.
endpoint.keepAliveTimeout = 60_000
await once(endpoint, "listening")
const address = endpoint.address()
const runtime = ManagedRuntime.make(service)
const post = await open(runtime, `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`)
await play(post, "warm-up")
const journeys = await play(post, "counted")
await runtime.dispose()
endpoint.close()

for (const [journey, files] of Object.entries(journeys)) {
  const rooms = Array.from(Map.groupBy(files, roomOf), ([room, { length }]) => `${room} ${length}`)
  process.stdout.write(`| ${journey} | ${files.length} | ${rooms.join(", ")} |\n`)
  if (process.argv.includes("--files")) process.stdout.write(`${files.map((file) => `  ${file}\n`).join("")}\n`)
}
