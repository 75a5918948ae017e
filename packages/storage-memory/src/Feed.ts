import type { Change, Page } from "@quotewire/core"

const chunk_events = 256

/**
 * The events of one workspace, numbered from 1.
 *
 * An event's number is its index, so reading costs the same everywhere, and erasing drops chunks from the front.
 */
export class Feed {
  // Every chunk but the last is full. Erased events of the first chunk are set to undefined, to free their memory.
  private readonly chunks: Array<Array<Change.NewEvent | undefined>> = []
  /** The number before the first place of the first chunk. */
  private base = 0
  private erased_through = 0
  private last = 0

  get size(): number {
    return this.last - this.erased_through
  }

  append(event: Change.NewEvent): void {
    this.last += 1
    const tail = this.chunks.at(-1)
    if (tail === undefined || tail.length === chunk_events) this.chunks.push([event])
    else tail.push(event)
  }

  read(after: number, limit: number): Page.FeedPage {
    const start = Math.max(after, this.erased_through)
    const end = Math.min(start + limit, this.last)
    const events: Array<Change.StoredEvent> = []
    for (let number = start + 1; number <= end; number++) {
      const event = this.at(number)
      if (event !== undefined) {
        events.push({ number, id: event.id, occurred_at: event.occurred_at, body: event.body })
      }
    }
    return { events, erased_through: this.erased_through }
  }

  /** Erases from the front, up to the first event that did not occur before a time. Returns how many. */
  eraseBefore(occurred_before: number, limit: number): number {
    const start = this.erased_through
    const end = Math.min(start + limit, this.last)
    while (this.erased_through < end) {
      const event = this.at(this.erased_through + 1)
      if (event === undefined || event.occurred_at >= occurred_before) break
      this.eraseFirst()
    }
    return this.erased_through - start
  }

  /** Erases every event and returns how many. Later events continue the numbers. */
  eraseAll(): number {
    const erased = this.size
    this.chunks.length = 0
    this.base = this.last
    this.erased_through = this.last
    return erased
  }

  private at(number: number): Change.NewEvent | undefined {
    const place = number - this.base - 1
    return this.chunks[Math.floor(place / chunk_events)]?.[place % chunk_events]
  }

  private eraseFirst(): void {
    const first = this.chunks[0]
    if (first !== undefined) first[this.erased_through - this.base] = undefined
    this.erased_through += 1
    if (this.erased_through - this.base < chunk_events) return
    this.chunks.shift()
    this.base += chunk_events
  }
}
