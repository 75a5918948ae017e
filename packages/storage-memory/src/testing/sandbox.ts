import { type Client, type Config, type Embedded, embed, type Ids, Seal, WebhookSender } from "@quotewire/core"
import { Receiver } from "@quotewire/core/testing"
import { Clock, Duration, Effect, Layer, Redacted } from "effect"
import * as MemoryStorage from "../MemoryStorage.ts"
import { type CassettesByCarrier, recordedAt, transportOf } from "./cassettes.ts"
import { type Inbox, Inboxes, type InboxOptions } from "./Inbox.ts"
import * as StillClock from "./StillClock.ts"

/** Options of a sandbox: a configuration, which can be the one of your host, and what only tests need. */
export interface SandboxOptions extends Config {
  /** What time it is at first; by default when the first cassette was recorded, or now. */
  readonly now?: Date
  /**
   * What your carriers have said, by carrier id: recorded once with `quotewire carriers test --record`. Nothing is then sent.
   * Without it, your carriers are asked through `carrier_transport`.
   */
  readonly cassettes?: CassettesByCarrier
}

/** Options of `advanceUntil`. */
export interface AdvanceUntilOptions {
  /** How far the clock goes at a time; "1 second" by default. */
  readonly step?: Duration.Input
  /** How far it goes in all before this rejects; "1 day" by default. */
  readonly at_most?: Duration.Input
}

/** A whole service with one organization, for one test. */
export interface Sandbox {
  /** Calls with a server key. */
  readonly client: Client
  /** A key of each kind, for other clients and for hosts. */
  readonly keys: Keys
  readonly organization_id: Ids.OrganizationId
  /** The service itself: mount it, consume its events, read timelines, make further organizations. */
  readonly quotewire: Embedded
  /** What time it is in the sandbox. */
  readonly now: () => Promise<Date>
  /** Waits until everything that is due has happened: carriers asked, webhooks sent. The clock does not move. */
  readonly settled: () => Promise<void>
  /**
   * Moves the clock, such as by "1 hour", and returns when everything that fell due has happened: in order, each at its own time.
   *
   * Whole seconds only. Your own carriers have answered before the clock goes on.
   */
  readonly advance: (duration: Duration.Input) => Promise<void>
  /**
   * Moves the clock while your code runs, so that code which waits for quotes ends.
   *
   * @example
   * const order = await world.advanceUntil(checkout(world.client))
   */
  readonly advanceUntil: <A>(work: Promise<A>, options?: AdvanceUntilOptions) => Promise<A>
  /** An endpoint that receives webhooks without a network. The same name gives the same endpoint, also in a copy. */
  readonly inbox: (name?: string, options?: InboxOptions) => Promise<Inbox>
  /** What your carriers asked that no cassette could answer: a sentence for each, which says what to do. Empty if all is well. */
  readonly missing_from_cassettes: () => ReadonlyArray<string>
  /** Keeps the state as it is now. Take it when nothing is under way: work that is under way begins again in a copy. */
  readonly snapshot: () => Promise<Snapshot>
  /** Ends the service. A sandbox that is declared by `await using` ends with its block. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** A state to start sandboxes from. It never changes, so any number of tests can share it. */
export interface Snapshot {
  /** A sandbox that continues from this state, with the same keys and the same time. */
  readonly sandbox: () => Promise<Sandbox>
}

/** A key of each kind. */
export interface Keys {
  readonly server: string
  readonly widget: string
  readonly platform: string
}

/**
 * Starts a service of its own in memory, with a sandbox organization.
 *
 * The fictional carriers are asked, and your own `carriers` beside them. The clock stands still until you move it, no call is
 * limited, and nothing leaves the process unless one of your carriers sends it.
 *
 * Rejects if the configuration is wrong, with every fault in one message.
 *
 * @example
 * await using world = await sandbox()
 * const { id } = await world.client.start_quote_request({ line: "renters", ...consent, application, request_key: "a" })
 * await world.advance("1 minute")
 * const { quotes } = await world.client.get_quote_request({ id })
 */
export const sandbox = async ({ cassettes = {}, now, ...config }: SandboxOptions = {}): Promise<Sandbox> => {
  const start_ms = (now ?? recordedAt(cassettes) ?? new Date()).getTime()
  const world = open({ config, cassettes }, MemoryStorage.copyable(), StillClock.make(start_ms), new Inboxes())
  try {
    return world.as(await membersOf(world.quotewire, config))
  } catch (error) {
    await world.quotewire.close()
    throw error
  }
}

/** What stays the same in every copy of a sandbox. */
interface Members {
  readonly organization_id: Ids.OrganizationId
  readonly workspace_id: Ids.WorkspaceId
  readonly keys: Keys
}

const membersOf = async (quotewire: Embedded, { sandbox_connections = {} }: Config): Promise<Members> => {
  const { id: organization_id, workspaces } = await quotewire.createOrganization("Test")
  for (const [carrier_id, values] of Object.entries(sandbox_connections)) {
    const given = Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const]
    )
    await quotewire.setConnection({
      organization_id,
      environment: "sandbox",
      carrier_id,
      values: Object.fromEntries(given)
    })
  }
  const keyOf = async (kind: keyof Keys) =>
    (await quotewire.createKey({ organization_id, environment: "sandbox", kind })).key
  const [server, widget, platform] = await Promise.all([keyOf("server"), keyOf("widget"), keyOf("platform")])
  return { organization_id, workspace_id: workspaces.sandbox, keys: { server, widget, platform } }
}

interface Given {
  readonly config: Config
  readonly cassettes: CassettesByCarrier
}

/** All sandboxes have the same key, so that copies can open what is sealed. It protects nothing: the facts are made up. */
const seal_keys = Layer.succeed(Seal.SealKeys, { keys: [Redacted.make(new Uint8Array(Seal.key_bytes))] })

/** Opens a service on a storage. `as` makes it the sandbox of an organization that is stored there. */
const open = (given: Given, storage: MemoryStorage.Copyable, clock: Clock.Clock, inboxes: Inboxes) => {
  const { config, cassettes } = given
  const { sandbox_connections: _, ...options } = config
  const replayed = transportOf(cassettes, config.carriers ?? [])
  const quotewire = embed({
    ...options,
    ...(replayed !== null && { carrier_transport: replayed.transport }),
    // A storage may bring its own clock.
    storage: Layer.merge(storage.layer, Layer.succeed(Clock.Clock, clock)),
    seal_keys,
    webhooks: withoutWaiting(Receiver.layer(inboxes.receivers), clock)
  })
  const as = (members: Members): Sandbox => {
    const { keys, organization_id, workspace_id } = members
    const client = quotewire.client(keys.server)
    const settled = async () => {
      await quotewire.ready
      while (!storage.isIdle(clock.currentTimeMillisUnsafe())) await turn()
    }
    // Own carriers answer in real time. So before each step everything that is due ends, as it would if time really passed.
    const advance = async (duration: Duration.Input) => {
      let left = secondsOf(duration)
      do {
        await settled()
        const due_at = storage.nextDueAt(workspace_id)
        const due_in = due_at === null ? left : Math.ceil((due_at - clock.currentTimeMillisUnsafe()) / 1_000)
        const step = Math.min(left, Math.max(1, due_in))
        await moveClock(client, step)
        left -= step
      } while (left > 0)
      await settled()
    }
    return {
      client,
      keys,
      organization_id,
      quotewire,
      now: async () => new Date((await client.get_sandbox({})).workspace_time),
      missing_from_cassettes: () => replayed?.missing() ?? [],
      settled,
      advance,
      advanceUntil: (work, { at_most = "1 day", step = "1 second" } = {}) => advanceUntil(advance, work, step, at_most),
      inbox: (name = "inbox", options = {}) => inboxes.open(client, name, options),
      snapshot: async () => {
        await quotewire.ready
        const [copy, at] = [storage.copy(), clock.currentTimeMillisUnsafe()]
        const endpoints = inboxes.copy()
        return {
          sandbox: async () => {
            const world = open(given, copy.copy(), StillClock.make(at), endpoints.copy())
            await world.quotewire.ready
            return world.as(members)
          }
        }
      },
      close: quotewire.close,
      [Symbol.asyncDispose]: quotewire.close
    }
  }
  return { quotewire, as }
}

/** A sender for which waiting takes no time, so that an endpoint which never answers is timed out at once. */
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

let advances = 0

const moveClock = async (client: Client, seconds: number): Promise<void> => {
  await client.advance_time({ seconds }, { idempotency_key: `advance-${++advances}` })
}

const secondsOf = (duration: Duration.Input): number => {
  const seconds = Duration.toSeconds(Duration.fromInputUnsafe(duration))
  if (Number.isInteger(seconds) && seconds >= 1) return seconds
  throw new RangeError('advance: the duration must be whole seconds, at least one, such as "90 seconds".')
}

const advanceUntil = async <A>(
  advance: Sandbox["advance"],
  work: Promise<A>,
  step: Duration.Input,
  at_most: Duration.Input
): Promise<A> => {
  let ended = false
  const end = () => {
    ended = true
  }
  work.then(end, end)
  const steps = Math.ceil(millisOf(at_most) / millisOf(step))
  for (let taken = 0; taken < steps; taken++) {
    // Work that does not wait for the clock ends here, before it moves.
    await turn()
    if (ended) return work
    await advance(step)
  }
  await turn()
  if (ended) return work
  throw new Error(
    `The work has not ended, although the clock has moved by ${Duration.format(Duration.fromInputUnsafe(at_most))}.`
  )
}

const millisOf = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

/** The next turn of the event loop, when everything that can go on without waiting has done so. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
