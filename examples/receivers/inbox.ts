import type { IncomingHttpHeaders } from "node:http"
import { verifyWebhook } from "@quotewire/core"

/** What an event says. A test event names no resource, and an unknown type may have fields that this misses. */
export interface WebhookEvent {
  readonly id: string
  readonly type: string
  readonly resource?: Resource
}

/** A quote request or a quote, and the version that it had reached when the event was recorded. */
export interface Resource {
  readonly type: string
  readonly id: string
  readonly version: number
}

/** A resource as a read answers it. */
export interface Current {
  readonly id: string
  readonly version: number
}

/** What an inbox needs. */
export interface Settings {
  /** The secrets that count now. During a rotation these are two, so they are asked for at every delivery. */
  readonly secrets: () => ReadonlyArray<string>
  /** Reads a resource as it is now. */
  readonly read: (resource: Resource) => Promise<Current>
}

/** What this program acts on. Every other type, also one that appears tomorrow, is confirmed and passed over. */
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

/** Keeps what webhooks tell, whichever framework they come through. */
export const makeInbox = ({ secrets, read }: Settings) => {
  // In a database: a table of the identifiers that are done, unique by identifier.
  const done = new Set<string>()
  // In a database: a row for each resource, written with `... WHERE version < $new` so that it never goes back.
  const held = new Map<string, Current>()
  let work = Promise.resolve()

  const refresh = async (resource: Resource): Promise<void> => {
    const isNewer = (version: number) => version > (held.get(resource.id)?.version ?? 0)
    if (!isNewer(resource.version)) return
    // The state that is read may be newer than the event, and the events in between will find nothing to do.
    const current = await read(resource)
    if (isNewer(current.version)) held.set(current.id, current)
  }

  const process = async ({ id, type, resource }: WebhookEvent): Promise<void> => {
    if (done.has(id)) return
    if (known.has(type) && resource !== undefined) await refresh(resource)
    // After the work, and in a database in the same transaction: an event whose work failed may come again.
    done.add(id)
  }

  /** Works events off one after another. It rejects where the work of this one failed. */
  const take = (event: WebhookEvent): Promise<void> => {
    const turn = work.then(() => process(event))
    work = turn.catch(() => undefined)
    return turn
  }

  return {
    /**
     * Says how to answer a delivery, and what is to be done when it has been answered.
     *
     * With a database, insert the event here: what was confirmed and then lost in a crash is not sent again.
     */
    accept: async (headers: IncomingHttpHeaders, body: Uint8Array) => {
      const { ok } = await verifyWebhook({ secrets: secrets(), headers, body })
      if (!ok) return { status: 400, work: () => undefined }
      const event: WebhookEvent = JSON.parse(new TextDecoder().decode(body))
      return { status: 204, work: () => void take(event).catch((error) => console.error(event.id, error)) }
    },
    take,
    held: (): ReadonlyMap<string, Current> => held,
    /** Reads every resource again, whatever version it had. */
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
