import { Effect } from "effect"
import type { QuoteRequestId } from "../../wire/Ids.ts"
import type * as QuoteRequest from "../QuoteRequest.ts"

/** What this process knows about a request while it asks carriers for it. */
export interface Seen {
  /** The request after the last answer in this process; null if no answer has changed it. */
  newest: QuoteRequest.QuoteRequest | null
  /** How many running jobs share this knowledge. */
  jobs: number
}

/** Nothing is known. */
export const nothing = (): Seen => ({ newest: null, jobs: 0 })

/** What the running jobs of each request share. It is forgotten when the last of them ends. */
export class SeenRequests {
  private readonly requests = new Map<QuoteRequestId, Seen>()

  /** Runs a job of a request. */
  during<A, E>(id: QuoteRequestId, job: (seen: Seen) => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.join(id)),
      job,
      (seen) => Effect.sync(() => this.leave(id, seen))
    )
  }

  private join(id: QuoteRequestId): Seen {
    const seen = this.requests.get(id) ?? nothing()
    seen.jobs += 1
    this.requests.set(id, seen)
    return seen
  }

  private leave(id: QuoteRequestId, seen: Seen): void {
    seen.jobs -= 1
    if (seen.jobs === 0) this.requests.delete(id)
  }
}
