import {
  Allowance,
  type Client,
  type Config,
  type Embedded,
  type EmbedOptions,
  embed,
  type Ids,
  type StandardLine,
  WebhookSender
} from "@quotewire/core"
import type { AnyLine, InputOf } from "@quotewire/core/client"
import { Receiver } from "@quotewire/core/testing"
import { Clock, type Duration, Effect, Layer, Predicate } from "effect"
import * as MemoryStorage from "../MemoryStorage.ts"
import * as Advances from "./Advances.ts"
import { type CassettesByCarrier, type Replayed, recordedAt, transportOf } from "./cassettes.ts"
import { type Inbox, Inboxes, type InboxOptions } from "./Inbox.ts"
import * as StillClock from "./StillClock.ts"
import { rejectStuckWaits } from "./stuckWaits.ts"

/** Options of a sandbox: a configuration, which can be your host's, and additional options for tests. */
export interface SandboxOptions<OwnLine extends AnyLine = StandardLine> extends Config<OwnLine> {
  /** The time at which the clock starts. By default, when the first cassette was recorded; without cassettes, now. */
  readonly now?: Date
  /**
   * Recorded answers of your carriers, by carrier ID. Create them with `quotewire carriers test --record`. With
   * cassettes, nothing is sent. Without them, your carriers are asked through `carrier_transport`.
   */
  readonly cassettes?: CassettesByCarrier
  /** The scenario that the fictional carriers play, such as `zero_quotes`. By default they follow their own rules. */
  readonly scenario?: InputOf<"select_scenario">["scenario"]
  /** Where the log goes; by default to standard output. */
  readonly logger?: EmbedOptions["logger"]
}

/**
 * A whole quoting service with one organization, for one test.
 *
 * `OwnLine` is the type of the insurance lines that its clients can use; by default the standard lines.
 */
export interface Sandbox<OwnLine extends AnyLine = StandardLine> {
  /** A client with a server key. Pass it to the code under test, which need not know that it runs in a test. */
  readonly client: Client<OwnLine>
  /** A key of each kind, for other clients and for hosts. */
  readonly keys: Keys
  readonly organization_id: Ids.OrganizationId
  /** The service itself. Use it to mount the service, read timelines or create more organizations. */
  readonly quotewire: Embedded<OwnLine>
  /** Returns the current time in the sandbox. */
  readonly now: () => Promise<Date>
  /** Waits until all due work is done, such as asking carriers and sending webhooks. The clock does not move. */
  readonly settled: () => Promise<void>
  /**
   * Moves the clock, for example by "1 hour". Resolves when everything that became due has happened, in order and each
   * at its own time.
   *
   * The duration must be in whole seconds, and at most a hundred years. Before each step, the sandbox waits until your
   * own carriers have answered.
   */
  readonly advance: (duration: Duration.Input) => Promise<void>
  /**
   * Moves the clock while your code runs, so that its waits for quotes or events end. Resolves to your code's result.
   *
   * Without `advanceUntil`, a wait that only the clock can end rejects after two real seconds, and the error says so.
   *
   * @example
   * const order = await world.advanceUntil(checkout(world.client))
   */
  readonly advanceUntil: <A>(work: Promise<A>, options?: Advances.AdvanceUntilOptions) => Promise<A>
  /**
   * Opens an endpoint that receives webhooks without a network. The same name returns the same endpoint, even after a
   * snapshot.
   */
  readonly inbox: (name?: string, options?: InboxOptions) => Promise<Inbox>
  /** The requests that no cassette could answer. One sentence for each says what to do. */
  readonly missing_from_cassettes: () => ReadonlyArray<string>
  /** Captures the current state. Call it while nothing is running, because running work starts over in a copy. */
  readonly snapshot: () => Promise<Snapshot<OwnLine>>
  /** Stops the service. If you declare a sandbox with `await using`, it closes when the block ends. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** A state from which sandboxes can start. It never changes, so any number of tests can share it. */
export interface Snapshot<OwnLine extends AnyLine = StandardLine> {
  /** Creates a sandbox that continues from this state, with the same keys and the same time. */
  readonly sandbox: () => Promise<Sandbox<OwnLine>>
}

/** A key of each kind. */
export interface Keys {
  readonly server: string
  readonly widget: string
  readonly platform: string
}

/**
 * Starts a new service in memory, with one organization in the sandbox environment.
 *
 * The fictional carriers and your own `carriers` are asked. The clock stands still until you move it, there are no rate
 * limits, and nothing leaves the process unless one of your carriers sends it.
 *
 * Rejects if the configuration is wrong. The error's message lists every fault.
 *
 * @example
 * await using world = await sandbox()
 * const { id } = await world.client.start_quote_request({ line: "renters", ...consent, application, request_key: "a" })
 * await world.advance("1 minute")
 * const { quotes } = await world.client.get_quote_request({ id })
 */
export const sandbox = async <OwnLine extends AnyLine = StandardLine>(
  options: SandboxOptions<OwnLine> = {}
): Promise<Sandbox<OwnLine>> => {
  if (!isObject(options)) throw new Error('sandbox needs an options object, such as { scenario: "zero_quotes" }.')
  const { cassettes = {}, now, logger, scenario, ...config } = options
  if (!isObject(cassettes)) throw new Error("cassettes: Must be an object with recordings by carrier id.")
  const startMs = startOf(now ?? recordedAt(cassettes) ?? new Date())
  const embedOptions = { config, cassettes, ...(logger !== undefined && { logger }) }
  const world = open(embedOptions, MemoryStorage.copyable(), startMs, new Inboxes())
  try {
    const opened = world.as(await membersOf(world.quotewire, config))
    if (scenario !== undefined) await opened.client.select_scenario({ scenario }, { idempotency_key: "scenario" })
    return opened
  } catch (error) {
    await world.quotewire.close()
    throw error
  }
}

// The options are checked at run time, because JavaScript code can pass anything.
const isObject = (value: unknown): boolean => Predicate.isReadonlyObject(value)

/** What stays the same in every copy of a sandbox. */
interface Members {
  readonly organization_id: Ids.OrganizationId
  readonly workspace_id: Ids.WorkspaceId
  readonly keys: Keys
}

const membersOf = async (
  quotewire: Pick<Embedded, "createOrganization" | "createKey" | "setConnection">,
  { sandbox_connections = {} }: Pick<Config, "sandbox_connections">
): Promise<Members> => {
  const { id: organization_id, workspaces } = await quotewire.createOrganization("Test")
  for (const [carrier_id, values] of Object.entries(sandbox_connections)) {
    const entries = Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const]
    )
    await quotewire.setConnection({
      organization_id,
      environment: "sandbox",
      carrier_id,
      values: Object.fromEntries(entries)
    })
  }
  const keyOf = async (kind: keyof Keys) =>
    (await quotewire.createKey({ organization_id, environment: "sandbox", kind })).key
  const [server, widget, platform] = await Promise.all([keyOf("server"), keyOf("widget"), keyOf("platform")])
  return { organization_id, workspace_id: workspaces.sandbox, keys: { server, widget, platform } }
}

interface CheckedSandboxOptions<OwnLine extends AnyLine> {
  readonly config: Config<OwnLine>
  readonly cassettes: CassettesByCarrier
  readonly logger?: NonNullable<EmbedOptions["logger"]>
}

/**
 * All sandboxes use the same key, so that copies can decrypt what was sealed. It protects nothing, because the facts
 * are made up.
 */
const sealKey = "cXVvdGV3aXJlLXRlc3Qta2l0LW1hZGUtdXAtZmFjdHM="

/**
 * Opens a service on a storage backend. The returned function `as` creates the sandbox of an organization that is
 * already stored there.
 */
const open = <OwnLine extends AnyLine>(
  sandboxOptions: CheckedSandboxOptions<OwnLine>,
  storage: MemoryStorage.Copyable,
  nowMs: number,
  inboxes: Inboxes
) => {
  const still = StillClock.make(nowMs)
  const replayed = transportOf(sandboxOptions.cassettes, sandboxOptions.config.carriers ?? [])
  const embedded = embed<OwnLine>(optionsOf(sandboxOptions, { storage, still, replayed, inboxes }))
  const advances = Advances.make({ storage, still, ready: embedded.ready, isRecorded: replayed !== null })
  const quotewire: Embedded<OwnLine> = {
    ...embedded,
    client: (key) => rejectStuckWaits(embedded.client(key), advances.standsAt)
  }
  const snapshotFor = async (members: Members): Promise<Snapshot<OwnLine>> => {
    await quotewire.ready
    const [copy, endpoints] = [storage.copy(), inboxes.copy()]
    return {
      sandbox: async () => {
        const world = open(sandboxOptions, copy.copy(), nowMs, endpoints.copy())
        await world.quotewire.ready
        return world.as(members)
      }
    }
  }
  const sandboxWith = (members: Members): Sandbox<OwnLine> => {
    const { keys, organization_id, workspace_id } = members
    const client = quotewire.client(keys.server)
    const advance = advances.of(workspace_id, client)
    return {
      client,
      keys,
      organization_id,
      quotewire,
      now: async () => new Date((await client.get_sandbox({})).workspace_time),
      missing_from_cassettes: () => replayed?.missing() ?? [],
      settled: advances.settled,
      advance: async (duration) => advance(Advances.secondsOf("duration", duration)),
      advanceUntil: async (work, options) => Advances.advanceUntil(advance, work, options),
      inbox: (name = "inbox", options = {}) => inboxes.open(client, name, options),
      snapshot: () => snapshotFor(members),
      close: quotewire.close,
      [Symbol.asyncDispose]: quotewire.close
    }
  }
  return { quotewire, as: sandboxWith }
}

/** What a sandbox's service runs on. */
interface Ground {
  readonly storage: MemoryStorage.Copyable
  readonly still: StillClock.StillClock
  readonly replayed: Replayed | null
  readonly inboxes: Inboxes
}

/** The options with which a sandbox embeds its service. */
const optionsOf = <OwnLine extends AnyLine>(
  { config, logger }: CheckedSandboxOptions<OwnLine>,
  { inboxes, replayed, still, storage }: Ground
): EmbedOptions<OwnLine> => {
  const { sandbox_connections: _, ...settings } = config
  return {
    ...settings,
    ...(logger !== undefined && { logger }),
    ...(replayed !== null && { carrier_transport: replayed.transport }),
    // Replaces the clock that the storage may provide.
    storage: Layer.merge(storage.layer, Layer.succeed(Clock.Clock, still.clock)),
    seal_keys: [sealKey],
    // There are no limits, because a rate limit recovers only when the clock moves, and this clock stands still.
    limits: Allowance.noLimits,
    webhooks: withoutWaiting(Receiver.layer(inboxes.receivers), still.clock)
  }
}

/** Creates a webhook sender whose waits take no time, so that an endpoint that never responds times out immediately. */
const withoutWaiting = (
  sender: Layer.Layer<WebhookSender.WebhookSender>,
  clock: Clock.Clock
): Layer.Layer<WebhookSender.WebhookSender> =>
  Layer.effect(
    WebhookSender.WebhookSender,
    Effect.map(WebhookSender.WebhookSender, ({ lookUp, send }) => ({
      lookUp,
      send: (delivery) => Effect.provideService(send(delivery), Clock.Clock, { ...clock, sleep: () => Effect.void })
    }))
  ).pipe(Layer.provide(sender))

/** The time at which a clock starts, in milliseconds. */
const startOf = (now: Date): number => {
  const ms = Predicate.isDate(now) ? now.getTime() : Number.NaN
  if (ms >= earliestMs && ms < latestMs) return ms
  throw new RangeError('now must be a Date in the years 1970 to 2999, such as new Date("2026-09-26T12:00:00Z").')
}

const earliestMs = 0
const latestMs = Date.UTC(3000, 0)
