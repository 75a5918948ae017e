import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { embed, isApiError } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, Logger, References, type Scope } from "effect"
import fc from "fast-check"
import { receiveCallbacks } from "../examples/carriers/receiver.ts"
import { host as command } from "../packages/cli/test/support/program.ts"
import { Host, http, tools } from "./host.ts"
import { pgStorage } from "./hosts.ts"
import { type CarrierLedger, names, startLedger } from "./support/carrierLedger.ts"
import { ownCarriers } from "./support/ownCarriers.ts"
import { type Do, type Story, stories, type Told, tell } from "./support/ownCarriersStory.ts"
import * as Rest from "./support/rest.ts"

/*
 * Custom carriers over real sockets, in sandboxes whose clocks are advanced: the offers in the carriers' ledger are
 * compared with the quotes. `OFFERS_MADE=1` prints how many offers each host saw and lost.
 */

/** The host under test: a separate sandbox for each story, and what was logged. */
interface Surface {
  readonly newSandbox: Effect.Effect<Do>
  readonly log: () => string
}

/** Where a host accepts a carrier's callbacks. */
const routeOf = (baseUrl: string) => (carrierId: string) =>
  `${baseUrl}/carriers/${encodeURIComponent(carrierId)}/callbacks`

const carrierServer = Effect.acquireRelease(
  Effect.promise(() => startLedger()),
  ({ close }) => Effect.promise(close)
)

const asHost = (makeHost: typeof http, storage: Parameters<typeof http>[0]) =>
  Effect.fnUntraced(function* (carriers: CarrierLedger) {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const host = makeHost(storage, { carriers: ownCarriers(carriers.url) }).pipe(
      Layer.provide(Layer.succeed(References.CurrentLoggers, new Set([logger])))
    )
    const context = yield* Layer.build(Layer.fresh(host))
    const { base_url, call, newOrganization } = yield* Effect.provide(Host, context)
    carriers.callBackTo(routeOf(base_url))
    const newSandbox = Effect.map(
      newOrganization,
      (keys): Do =>
        (operation, input, idempotency_key) =>
          Effect.runPromise(call(keys, operation, input, idempotency_key === undefined ? {} : { idempotency_key }))
    )
    const surface: Surface = { newSandbox, log: () => lines.join("\n") }
    return surface
  })

const asEmbedded = Effect.fnUntraced(function* (carriers: CarrierLedger) {
  const lines: Array<string> = []
  const log = (...parts: ReadonlyArray<unknown>) =>
    void lines.push(parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" "))
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() =>
      embed({
        storage: MemoryStorage.layer,
        carriers: ownCarriers(carriers.url),
        fictional_carriers: false,
        logger: { debug: log, info: log, warn: log, error: log }
      })
    ),
    ({ close }) => Effect.promise(close)
  )
  const receiver = yield* Effect.acquireRelease(
    Effect.promise(() => receiveCallbacks(quotewire)),
    ({ close }) => Effect.promise(close)
  )
  carriers.callBackTo(receiver.urlFor)
  const newSandbox = Effect.promise(async (): Promise<Do> => {
    const { id: organization_id } = await quotewire.createOrganization("A journey")
    const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
    const client = quotewire.client(key)
    return async (operation, input, idempotency_key) => {
      try {
        const body = await Reflect.get(client, operation)(input, { idempotency_key })
        return { status: Rest.operationOf(operation).route.status, body }
      } catch (error) {
        if (!isApiError(error)) throw error
        return { status: 409, body: { error: { code: error.code, retry_action: { type: error.retry_action } } } }
      }
    }
  })
  const surface: Surface = { newSandbox, log: () => lines.join("\n") }
  return surface
})

const config = fileURLToPath(new URL("support/ownCarriers.config.ts", import.meta.url))

const asDev = Effect.fnUntraced(function* (carriers: CarrierLedger) {
  const started = yield* command(["dev", "--port", "0", "--json", "--config", config], {
    OWN_CARRIERS_URL: carriers.url
  })
  const { base_url, keys } = JSON.parse(started.output())
  carriers.callBackTo(routeOf(base_url))
  const call = Rest.make(base_url)
  const newSandbox = Effect.succeed<Do>((operation, input, idempotency_key) =>
    Effect.runPromise(call(keys, operation, input, idempotency_key === undefined ? {} : { idempotency_key }))
  )
  const surface: Surface = { newSandbox, log: started.errors }
  return surface
})

const told = (name: string, carriers: CarrierLedger, all: ReadonlyArray<Told>, log: string) => {
  const made = all.reduce((sum, { offers_made }) => sum + offers_made, 0)
  const quotes = all.reduce((sum, { quotes }) => sum + quotes, 0)
  if (process.env.OFFERS_MADE !== undefined) console.log(`${name}: ${made} offers made, ${quotes} quotes`)
  assert.deepStrictEqual(
    all.flatMap(({ faults }) => faults),
    []
  )
  assert.notInclude(log, "late answer")
  const silentOnes = names.filter(
    (name) => !carriers.ledger.some(({ carrier, what }) => carrier === name && what === "offered")
  )
  assert.deepStrictEqual(silentOnes, ["silent", "declines"])
}

/** Plays stories concurrently, each in its own sandbox. */
const playAll = Effect.fnUntraced(function* (
  name: string,
  open: (carriers: CarrierLedger) => Effect.Effect<Surface, unknown, Scope.Scope>,
  toldStories: ReadonlyArray<Story>
) {
  const carriers = yield* carrierServer
  const { log, newSandbox } = yield* open(carriers)
  let lastZip = 10_000
  const nextZip = () => String(++lastZip)
  const all = yield* Effect.forEach(
    toldStories,
    (story) => Effect.flatMap(newSandbox, (call) => Effect.promise(() => tell(story, call, nextZip, carriers))),
    { concurrency: "unbounded" }
  )
  told(name, carriers, all, log())
}, Effect.scoped)

const drawn = fc.sample(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }), {
  numRuns: 3,
  seed: 28
})
const inOneSandbox: Story = {
  name: "one sandbox",
  steps: [
    { do: "start" },
    { do: "advance", seconds: 1 },
    {
      do: "together",
      steps: [{ do: "start" }, { do: "advance", seconds: 3_600 }, { do: "advance", seconds: 60 }, { do: "start" }]
    },
    { do: "advance", seconds: 7 }
  ]
}

// One host after another: on an overloaded machine asks would time out, which is not a fault of the clock.
describe("custom carriers in a sandbox", () => {
  it.live.each([
    ["over REST, in memory", asHost(http, MemoryStorage.layer), stories(drawn)],
    ["over REST, in PostgreSQL", asHost(http, pgStorage), stories(drawn)],
    ["through MCP tools", asHost(tools, MemoryStorage.layer), stories([])],
    ["in a program, by embed", asEmbedded, stories(drawn)],
    ["in quotewire dev", asDev, [inOneSandbox]]
  ] as const)(
    "get a quote for each of their offers, however the clock advances: %s",
    ([name, open, told_stories]) => playAll(name, open, told_stories),
    120_000
  )
})
