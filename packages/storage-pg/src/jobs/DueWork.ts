import type { Storage } from "@quotewire/core"

/** Receives news about due jobs from one location of a database. */
export interface DueNews {
  /** Called when hints from other hosts begin to arrive (true), and when they may be lost (false). */
  readonly listens: (isListening: boolean) => void
  /**
   * Called with the next job's due time according to the database. If it is earlier than the due time that the host
   * knows, a hint was lost.
   */
  readonly nextDue: (at: number | null) => void
}

/**
 * What a host knows about a database's due jobs. With it, the host asks for jobs only if there may be some: after a
 * hint, when a job is due, and always while hints cannot arrive.
 */
export class DueWork {
  private isListening = false
  private isHinted = true
  private running = 0
  private askedAt = 0
  private nextDueAt: number | null = null
  private news: DueNews | null = null

  /**
   * Starts to receive news from the database's current location. News from a former location is ignored from now on.
   */
  readonly newsFromHere = (): DueNews => {
    const isCurrent = () => this.news === news
    const news: DueNews = {
      listens: (isListening) => {
        if (isCurrent()) this.isListening = isListening
      },
      nextDue: (dueAt) => {
        if (isCurrent() && dueAt !== null && (this.nextDueAt === null || dueAt < this.nextDueAt)) this.isHinted = true
      }
    }
    this.news = news
    this.isListening = false
    return news
  }

  /** Records that there may be more due jobs than known. */
  readonly hint = (): void => {
    this.isHinted = true
  }

  /** The result of a claim if the database need not be asked; null if it must be asked. */
  readonly answer = (now: number): Storage.JobClaim | null => {
    const isDue = this.nextDueAt !== null && this.nextDueAt <= now
    if (!this.isListening || this.isHinted || this.running > 0 || isDue || now < this.askedAt) return null
    return { jobs: [], next_due_at: this.nextDueAt, busy: false }
  }

  /** Begins a claim. Returns a function to call at its end, with the claim's result or with null if it failed. */
  readonly asking = ({ lease_ms, now }: Storage.ClaimQuery): ((claimed: Storage.JobClaim | null) => void) => {
    // Concurrent claims may return out of order, so the next claim must ask again.
    this.isHinted = this.running > 0
    this.running += 1
    this.askedAt = now
    return (claimed) => {
      this.running -= 1
      if (claimed === null || this.running > 0) this.isHinted = true
      if (claimed === null) return
      const { jobs, next_due_at } = claimed
      // If this host does not finish a job, the job is due again when its lease ends.
      const endsAt = jobs.length > 0 ? now + lease_ms : null
      this.nextDueAt = next_due_at === null || endsAt === null ? (next_due_at ?? endsAt) : Math.min(next_due_at, endsAt)
    }
  }
}
