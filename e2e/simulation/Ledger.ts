import type { Ids } from "@quotewire/core"
import type { Machine } from "./Machine.ts"
import type { Answer } from "./Operations.ts"
import type { CarrierId } from "./Story.ts"
import type { WorkspaceName } from "./World.ts"

/*
 * What the outside world has seen of the service: the facts that the invariants are about.
 */

/** A moment: the virtual time, and how many steps had run by then, which orders simultaneous events. */
export interface Moment {
  readonly at: number
  readonly step: number
}

/** An ask as its carrier saw it. */
export interface Ask extends Moment {
  readonly carrier_id: CarrierId
  readonly request: number
  readonly key: string
  readonly line: string
  readonly attempt: number
  /** Whether the carrier said that it did not accept the ask. */
  was_refused: boolean
  /** Whether the carrier never answers. */
  readonly hangs: boolean
  /** When the carrier answered, or the call ended; null while it is running. */
  ended_at: number | null
}

/** An accepted start, as its caller knows it. */
export interface Accepted {
  readonly request: number
  readonly workspace: WorkspaceName
  readonly id: string
  readonly sent: Moment
  readonly answered: Moment
}

/** A subscription, as its owner knows it. */
export interface Subscribed {
  readonly id: string
  readonly workspace: WorkspaceName
  readonly url: string
  readonly types: ReadonlyArray<string>
  /** The secrets that its owner was told. */
  readonly secrets: Array<string>
  /**
   * Whether it has a secret that its owner was not told: the response was lost, and the replayed one contains no
   * secret.
   */
  has_unknown_secret: boolean
  readonly sent: Moment
  readonly answered: Moment
  disabling: Moment | null
  disabled: Moment | null
}

/** A POST as a receiver got it. */
export interface Received extends Moment {
  readonly url: string
  readonly body: string
  /** Whether the receiver confirmed it. */
  readonly was_taken: boolean
  readonly headers: Readonly<Record<string, string>>
}

/** An event stored by a change, as observed in storage. */
export interface Committed extends Moment {
  readonly workspace_id: Ids.WorkspaceId
  readonly id: string
}

/** A control or an operator's deed, its subject, and when it was sent. */
export interface Begun {
  readonly deed: string
  readonly about: string
  readonly sent: Moment
}

/** A control or a deed that got a response. */
export interface Done extends Begun {
  readonly answered: Moment
}

/** A call with a key that may have been revoked. */
export interface KeyUse {
  readonly workspace: WorkspaceName
  readonly sent: Moment
  readonly answered: Moment
  readonly was_accepted: boolean
}

/** An event that a consumer handled successfully. */
export interface Handled extends Moment {
  readonly workspace_id: string
  readonly event_id: string
}

/** An event as the feed shows it. */
export type FeedEvent = Answer<"list_events">["events"][number]

/** What a reader that follows a feed has seen, split where it started over because its cursor had expired. */
export type Followed = Array<Array<FeedEvent>>

/** Everything that the outside world has seen in a story. */
export interface Ledger {
  readonly asks: Array<Ask>
  readonly accepted: Array<Accepted>
  readonly subscribed: Array<Subscribed>
  readonly received: Array<Received>
  /** How many times each event was sent to each address, including receivers that are gone. */
  readonly attempts: Map<string, number>
  readonly committed: Array<Committed>
  readonly begun: Array<Begun>
  readonly done: Array<Done>
  readonly handled: Array<Handled>
  readonly keyUses: Array<KeyUse>
  readonly followed: Map<WorkspaceName, Followed>
  /** When readers were told that the story is over. */
  ended_at: number
  /** Violations detected at the moment when they happen. */
  readonly wrong: Array<string>
  /** The states, transitions and faults that were reached. */
  readonly reached: Set<string>
}

/** The key of an event sent to an address. */
export const attemptOf = (url: string, eventId: string): string => `${url} ${eventId}`

/** A ledger before a story. */
export const make = (): Ledger => ({
  asks: [],
  accepted: [],
  subscribed: [],
  received: [],
  attempts: new Map(),
  committed: [],
  begun: [],
  done: [],
  handled: [],
  keyUses: [],
  followed: new Map(),
  ended_at: 0,
  wrong: [],
  reached: new Set()
})

/** The current moment of a machine. */
export const momentOf = (machine: Machine): Moment => ({ at: machine.now(), step: machine.steps() })

/** Whether one moment was before another. */
export const isBefore = (one: Moment, other: Moment): boolean => one.step < other.step
