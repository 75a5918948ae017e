/**
 * Compares this project's own modules with Effect's equivalents: `npx node bench/libraries.ts`, after `npm run build`.
 *
 * Each round runs both. A figure is the minimum over all rounds, because other load on the machine can only add to it.
 * The ratio is the median of all rounds' ratios.
 */
import * as EffectCrypto from "@effect/platform-node/NodeCrypto"
import { Allowance, type Caller, Ids, TextCrypto } from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Cache, Context, type Duration, Effect, Layer, ManagedRuntime } from "effect"
import { Aead, Mac, SecureRandom } from "effect/crypto"
import { FindMyWay } from "effect/http"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { nonces } from "../packages/core/src/access/sealing/Seal.ts"
import { nonceBytes } from "../packages/core/src/access/sealing/TextCrypto.ts"
import { BoundedMap } from "../packages/core/src/concurrency/BoundedMap.ts"
import * as Paths from "../packages/http/src/host/Paths.ts"
import { median } from "./statistics.ts"

const rounds = 20

/** Repeats the measured work `times` times. */
type TimedCall = (times: number) => void | Promise<void>

interface Pair {
  readonly name: string
  readonly own: TimedCall
  readonly effect: TimedCall
  readonly times: number
}

const microseconds = async (work: TimedCall, times: number): Promise<number> => {
  const startedMs = performance.now()
  await work(times)
  return ((performance.now() - startedMs) * 1_000) / times
}

const compare = async ({ name: what, own, effect, times }: Pair) => {
  const all: Array<{ readonly own: number; readonly effect: number }> = []
  for (let round = -2; round < rounds; round++) {
    const first = await microseconds(round % 2 === 0 ? own : effect, times)
    const second = await microseconds(round % 2 === 0 ? effect : own, times)
    // Rounds -2 and -1 only warm up the code.
    if (round >= 0) all.push(round % 2 === 0 ? { own: first, effect: second } : { own: second, effect: first })
  }
  return {
    what,
    "own, µs": Math.min(...all.map((round) => round.own)).toFixed(2),
    "Effect, µs": Math.min(...all.map((round) => round.effect)).toFixed(2),
    "own = 1": median(all.map((round) => round.effect / round.own)).toFixed(2)
  }
}

const loop =
  (operation: (index: number) => unknown): TimedCall =>
  (times) => {
    for (let index = 0; index < times; index++) operation(index)
  }

/** Runs an effect repeatedly, in sequence and in one fiber. */
const inFiber =
  (operation: Effect.Effect<unknown, unknown>): TimedCall =>
  (times) =>
    Effect.runPromise(
      Effect.gen(function* () {
        for (let index = 0; index < times; index++) yield* operation
      })
    )

const routing = (): Pair => {
  const paths = [
    "/v1/quotes/{id}",
    "/v1/quote-requests",
    "/v1/quote-requests/{id}",
    "/v1/quote-requests/{id}/cancel",
    "/v1/event-subscriptions/{id}",
    "/v1/event-subscriptions/{id}/deliveries/{event_id}",
    "/v1/feedback/{id}",
    "/v1/sandbox/time",
    "/go/{token}"
  ]
  const requestPaths = [
    "/v1/quotes/quo_01JABCDEFGHJKMNPQRSTVWXYZ0",
    "/v1/quote-requests",
    "/v1/event-subscriptions/sub_01JABCDEFGHJKMNPQRSTVWXYZ0/deliveries/evt_01JABCDEFGHJKMNPQRSTVWXYZ0",
    "/v1/quote-requests/qrq_01JABCDEFGHJKMNPQRSTVWXYZ0"
  ]
  const ownPaths = Paths.make(paths.map((path) => ({ method: "GET", path, value: path })))
  const router = FindMyWay.make<string>({
    caseSensitive: true,
    ignoreDuplicateSlashes: false,
    ignoreTrailingSlash: false,
    maxParamLength: Number.MAX_SAFE_INTEGER
  })
  for (const path of paths) router.on("GET", `/${path.slice(1).replace(/\{(\w+)\}/g, ":$1")}`, path)
  return {
    name: "find a route",
    own: loop((index) => ownPaths.find("GET", requestPaths[index % requestPaths.length] ?? "")),
    effect: loop((index) => router.find("GET", requestPaths[index % requestPaths.length] ?? "")),
    times: 20_000
  }
}

const cryptography = async (): Promise<ReadonlyArray<Pair>> => {
  const keys: TextCrypto.TextKeys = { aead: new Uint8Array(32).fill(1), mac: new Uint8Array(32).fill(2) }
  const nonce = new Uint8Array(TextCrypto.nonceBytes)
  const text = JSON.stringify({ drivers: "x".repeat(600) })
  const keyed = <E>(layer: Layer.Layer<TextCrypto.TextCrypto, E>) =>
    Effect.runPromise(
      Effect.provide(
        Effect.flatMap(TextCrypto.TextCrypto, (crypto) => crypto.keyed(keys)),
        layer
      )
    )
  const ownCrypto = await keyed(NodeCrypto.layer)
  const effect = await keyed(
    TextCrypto.TextCrypto.layer.pipe(
      Layer.provide([Aead.layerWebCrypto.pipe(Layer.provide(SecureRandom.layerWebCrypto)), EffectCrypto.layerMac])
    )
  )
  const sealed = await Effect.runPromise(ownCrypto.encrypt(nonce, "purpose", text))
  const macOf = <E>(layer: Layer.Layer<Mac.Mac, E>) => Effect.runPromise(Effect.provide(Mac.Mac, layer))
  const [ownMac, effectMac] = [await macOf(NodeCrypto.layer), await macOf(EffectCrypto.layerMac)]
  const key = await Effect.runPromise(Mac.key(Mac.hmacSha256, keys.mac))
  const body = new TextEncoder().encode(text)
  return [
    {
      name: "sign a webhook (HMAC)",
      own: inFiber(ownMac.sign(key, body)),
      effect: inFiber(effectMac.sign(key, body)),
      times: 1_000
    },
    {
      name: "seal 600 bytes (AES-256-GCM)",
      own: inFiber(ownCrypto.encrypt(nonce, "purpose", text)),
      effect: inFiber(effect.encrypt(nonce, "purpose", text)),
      times: 500
    },
    {
      name: "open them",
      own: inFiber(ownCrypto.decrypt("purpose", sealed)),
      effect: inFiber(effect.decrypt("purpose", sealed)),
      times: 500
    },
    {
      name: "sign a handle (HMAC)",
      own: inFiber(ownCrypto.sign("qrq_01JABCDEFGHJKMNPQRSTVWXYZ0 read handle")),
      effect: inFiber(effect.sign("qrq_01JABCDEFGHJKMNPQRSTVWXYZ0 read handle")),
      times: 2_000
    }
  ]
}

const randomness = async (): Promise<Pair> => {
  const random = await Effect.runPromise(Effect.provide(SecureRandom.SecureRandom, SecureRandom.layerWebCrypto))
  const draw = nonces(random)
  return {
    name: `${nonceBytes} random bytes`,
    own: loop(() => draw()),
    effect: loop(() => Effect.runSync(random.randomBytes(nonceBytes))),
    times: 5_000
  }
}

const identifiers = async (): Promise<Pair> => {
  const layer = NodeCrypto.layer
  const { request } = await Effect.runPromise(Effect.provide(Ids.Ids, Layer.provide(Ids.Ids.layer, layer)))
  const { ulid } = await Effect.runPromise(Effect.provide(SecureRandom.SecureRandom, layer))
  const run = Effect.runSyncWith(Context.empty())
  return {
    name: "an identifier",
    own: loop(() => request()),
    effect: loop(() => `req_${run(ulid).toLowerCase()}`),
    times: 10_000
  }
}

const remembering = async (): Promise<Pair> => {
  const names = Array.from({ length: 1_000 }, (_, index) => `wks_${index}`)
  const map = new BoundedMap<string, string>(10_000)
  for (const name of names) map.set(name, name)
  const cache = await Effect.runPromise(
    Cache.make({ capacity: 10_000, lookup: (name: string) => Effect.succeed(name) })
  )
  let turn = 0
  const next = () => names[turn++ % names.length] ?? ""
  return {
    name: "read what is remembered",
    own: inFiber(Effect.sync(() => map.get(next()))),
    effect: inFiber(Effect.suspend(() => Cache.get(cache, next()))),
    times: 5_000
  }
}

const many = 1_000_000_000
const unreached: Allowance.Limit = { per_minute: many, per_day: many }

/**
 * The four limits that apply to a read with a key: per minute and per day, each for the key and for the organization.
 */
const limits = async (): Promise<Pair> => {
  const reached = { start: unreached, read: unreached, other: unreached }
  const runtime = ManagedRuntime.make(
    Layer.merge(
      Allowance.Allowance.layer.pipe(
        Layer.provide(MemoryStorage.layer),
        Layer.provide(
          Layer.succeed(Allowance.AllowanceLimits, {
            ...Allowance.standardLimits,
            keys: { live: reached, sandbox: reached }
          })
        )
      ),
      RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))
    )
  )
  const context = await runtime.context()
  const allowance = Context.get(context, Allowance.Allowance)
  const limiter = Context.get(context, RateLimiter.RateLimiter)
  const caller: Caller.Caller = {
    kind: "server",
    environment: "sandbox",
    organization_id: Ids.OrganizationId.make(`org_${"0".repeat(26)}`),
    workspace_id: Ids.WorkspaceId.make(`wks_${"1".repeat(26)}`),
    key_id: Ids.KeyId.make(`key_${"0".repeat(26)}`),
    read_handle: null
  }
  const consume = (key: string, window: Duration.Input) => limiter.consume({ key, window, limit: many })
  return {
    name: "spend from four limits",
    own: inFiber(allowance.spend(caller, { read: 1 }, "192.0.2.1")),
    effect: inFiber(
      Effect.all([
        consume("key, minute", "1 minute"),
        consume("key, day", "1 day"),
        consume("organization, minute", "1 minute"),
        consume("organization, day", "1 day")
      ])
    ),
    times: 2_000
  }
}

const pairs = [
  routing(),
  ...(await cryptography()),
  await randomness(),
  await identifiers(),
  await remembering(),
  await limits()
]
const table: Array<Awaited<ReturnType<typeof compare>>> = []
for (const pair of pairs) table.push(await compare(pair))
console.table(table)
process.exit()
