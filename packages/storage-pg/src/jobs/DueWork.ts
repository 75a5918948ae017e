import type { Storage } from "@quotewire/core"

/** What a host hears about due work from one place of a database. */
export interface DueNews {
  /** Says whether the hints of other hosts arrive. */
  readonly listens: (isListening: boolean) => void
  /** Says when the next job is due according to the database. Earlier than known means that a hint was lost. */
  readonly nextDue: (at: number | null) => void
}

/**
 * What a host knows about the due work of a database, so that it asks for jobs only if there may be some: after a hint,
 * when a job is due, and always while hints cannot arrive.
 */
export class DueWork {
  private isListening = false
  private isHinted = true
  private running = 0
  private askedAt = 0
  private nextDueAt: number | null = null
  private news: DueNews | null = null

  /** Begins to get news from the current place of the database. What a former place still says does not count. */
  readonly newsFromHere = (): DueNews => {
    const isCurrent = () => this.news === news
    const news: DueNews = {
      listens: (isListening) => {
        if (isCurrent()) this.isListening = isListening
      },
      nextDue: (at) => {
        if (isCurrent() && at !== null && (this.nextDueAt === null || at < this.nextDueAt)) this.isHinted = true
      }
    }
    this.news = news
    this.isListening = false
    return news
  }

  /** Records that there may be more work than known. */
  readonly hint = (): void => {
    this.isHinted = true
  }

  /** The answer to a claim that need not ask the database; null if it must ask. */
  readonly answer = (now: number): Storage.JobClaim | null => {
    const isDue = this.nextDueAt !== null && this.nextDueAt <= now
    if (!this.isListening || this.isHinted || this.running > 0 || isDue || now < this.askedAt) return null
    return { jobs: [], next_due_at: this.nextDueAt, busy: false }
  }

  /** Begins a claim. Returns how to end it, with its answer or, if it failed, with null. */
  readonly asking = ({ lease_ms, now }: Storage.ClaimQuery): ((claimed: Storage.JobClaim | null) => void) => {
    // Concurrent claims may be answered out of order.
    this.isHinted = this.running > 0
    this.running += 1
    this.askedAt = now
    return (claimed) => {
      this.running -= 1
      if (claimed === null || this.running > 0) this.isHinted = true
      if (claimed === null) return
      const { jobs, next_due_at } = claimed
      // If this host does not finish a job, it is due again when its lease ends.
      const endsAt = jobs.length > 0 ? now + lease_ms : null
      this.nextDueAt = next_due_at === null || endsAt === null ? (next_due_at ?? endsAt) : Math.min(next_due_at, endsAt)
    }
  }
}
