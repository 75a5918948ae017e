import type * as Consumer from "./Consumer.ts"

/** A process's view of a consumer whose lease the process holds. */
export interface LeaseState {
  /** The current state, which may be ahead of storage. */
  readonly current: Consumer.Consumer
  /** The state that this process last stored. */
  readonly stored: Consumer.Consumer
  /** The process that holds the lease. */
  readonly holder: string
  /** When the lease expires, in milliseconds of real time; 0 after it was released. */
  readonly ends_at: number
  /**
   * Whether storage may have a newer version, from another writer or from a write by this process whose outcome is
   * unknown.
   */
  readonly isOutdated: boolean
  /** Whether another process may hold the lease. This never becomes false again. */
  readonly isLost: boolean
}

/** The state right after a claim has stored `consumer`. */
export const claimed = (consumer: Consumer.Consumer): LeaseState => ({
  current: consumer,
  stored: consumer,
  holder: consumer.lease?.holder ?? "",
  ends_at: consumer.lease?.ends_at ?? 0,
  isOutdated: false,
  isLost: false
})

/** Whether the lease has expired or is lost. */
export const hasEnded = ({ ends_at, isLost }: LeaseState, now: number): boolean => isLost || now >= ends_at

/** Whether the current state has progress that is not stored yet. */
export const isUnstored = ({ current, stored }: LeaseState): boolean =>
  current.position !== stored.position || current.retries_done !== stored.retries_done

/** The next version to write, with a lease until `until`, or without a lease if `until` is null. */
export const next = ({ current, holder }: LeaseState, until: number | null): Consumer.Consumer => ({
  ...current,
  version: current.version + 1,
  lease: until === null ? null : { holder, ends_at: until }
})

/** Replaces the current state. */
export const changed = (state: LeaseState, consumer: Consumer.Consumer): LeaseState => ({
  ...state,
  current: consumer
})

/** The state while a write is in progress. The outcome of the write is unknown until it returns. */
export const writing = (state: LeaseState): LeaseState => ({ ...state, isOutdated: true })

/** The state after a write. Changes that were made during the write are kept for the next write. */
export const written = (state: LeaseState, consumer: Consumer.Consumer): LeaseState => {
  const { lease, version } = consumer
  return {
    ...state,
    current: { ...state.current, version, lease },
    stored: consumer,
    ends_at: lease?.ends_at ?? 0,
    isOutdated: false
  }
}

/**
 * The state after the stored consumer was read; null if another process holds the lease. A process without the lease
 * can only ask to retry parked events, so only these requests and the version are copied.
 */
export const reloaded = (state: LeaseState, storedConsumer: Consumer.Consumer | null): LeaseState | null => {
  if (storedConsumer?.lease?.holder !== state.holder) return null
  const { retries_asked, version } = storedConsumer
  return { ...state, current: { ...state.current, version, retries_asked }, isOutdated: false }
}

/** The state after the lease was lost. */
export const lost = (state: LeaseState): LeaseState => ({ ...state, isLost: true })
