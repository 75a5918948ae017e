import type { IncomingHttpHeaders } from "node:http"
import { verifyWebhook } from "@quotewire/core"

/** An event. A test event has no resource, and event types that you do not know may have other fields. */
export interface WebhookEvent {
  readonly id: string
  readonly type: string
  readonly resource?: Resource
}

/** A quote request or a quote, and its version at the time of the event. */
export interface Resource {
  readonly type: string
  readonly id: string
  readonly version: number
}

/** The current state of a resource. */
export interface Current {
  readonly id: string
  readonly version: number
}

/** What an inbox needs from your program. */
export interface Settings {
  /**
   * Returns the secrets that are valid now. Called for each delivery, because two secrets are valid during a rotation.
   */
  readonly secrets: () => ReadonlyArray<string>
  /** Reads the current state of a resource. */
  readonly read: (resource: Resource) => Promise<Current>
}

/**
 * The event types that this program handles. It acknowledges and ignores all others, including types that are added
 * later.
 */
const known = new Set([
  "quote_request.updated",
  "quote_request.completed",
  "quote_request.failed",
  "quote_request.cancelled",
  "quote_request.incomplete",
  "quote.created",
  "quote.updated",
  "quote.expired"
])

/** Processes webhooks, independently of the framework. */
export const makeInbox = ({ secrets, read }: Settings) => {
  // In a database, use a table of processed event IDs with a unique index.
  const done = new Set<string>()
  // In a database, use a row for each resource and update it with `... WHERE version < $new`, so that no older version
  // replaces a newer one.
  const held = new Map<string, Current>()
  let work = Promise.resolve()

  const refresh = async (resource: Resource): Promise<void> => {
    const isNewer = (version: number) => version > (held.get(resource.id)?.version ?? 0)
    if (!isNewer(resource.version)) return
    // The resource may already be newer than this event. The events for the versions in between then change nothing.
    const current = await read(resource)
    if (isNewer(current.version)) held.set(current.id, current)
  }

  const process = async ({ id, type, resource }: WebhookEvent): Promise<void> => {
    if (done.has(id)) return
    if (known.has(type) && resource !== undefined) await refresh(resource)
    // Record the event last, so that it is processed again if the work fails. With a database, do both in one
    // transaction.
    done.add(id)
  }

  /** Processes an event after all earlier events. Rejects if processing this event fails. */
  const take = (event: WebhookEvent): Promise<void> => {
    const turn = work.then(() => process(event))
    work = turn.catch(() => undefined)
    return turn
  }

  return {
    /**
     * Returns the status to respond with, and the work to do after responding.
     *
     * With a database, insert the event here. Once you have acknowledged an event, it is not sent again, even if your
     * program crashes.
     */
    accept: async (headers: IncomingHttpHeaders, body: Uint8Array) => {
      const { ok } = await verifyWebhook({ secrets: secrets(), headers, body })
      if (!ok) return { status: 400, work: () => undefined }
      const event: WebhookEvent = JSON.parse(new TextDecoder().decode(body))
      return { status: 204, work: () => void take(event).catch((error) => console.error(event.id, error)) }
    },
    take,
    held: (): ReadonlyMap<string, Current> => held,
    /** Reads every known resource again, regardless of its version. */
    readAll: async () => {
      for (const { id, version } of [...held.values()]) {
        await refresh({ type: id.startsWith("qt_") ? "quote" : "quote_request", id, version: version + 1 })
      }
    }
  }
}

export type Inbox = ReturnType<typeof makeInbox>

/** A server that listens. */
export interface Listening {
  readonly url: string
  readonly close: () => Promise<void>
}
