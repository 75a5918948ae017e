/** A priority queue of events by time (a binary heap). Events of the same time keep the order in which they were added. */
export class EventQueue<Event> {
  readonly #heap: Array<{ readonly at: number; readonly place: number; readonly event: Event }> = []
  #added = 0

  /** Adds an event, at a time in microseconds. */
  add(at: number, event: Event): void {
    const heap = this.#heap
    const one = { at, place: this.#added++, event }
    let index = heap.length
    heap.push(one)
    while (index > 0) {
      const above = (index - 1) >> 1
      const other = heap[above]
      if (other === undefined || !isBefore(one, other)) break
      heap[index] = other
      index = above
    }
    heap[index] = one
  }

  /** Removes and returns the next event; undefined if there is none. */
  take(): { readonly at: number; readonly event: Event } | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    while (true) {
      let below = 2 * index + 1
      const left = heap[below]
      if (left === undefined) break
      const right = heap[below + 1]
      const smaller = right !== undefined && isBefore(right, left) ? right : left
      if (smaller === right) below += 1
      if (!isBefore(smaller, last)) break
      heap[index] = smaller
      index = below
    }
    heap[index] = last
    return first
  }
}

const isBefore = (
  one: { readonly at: number; readonly place: number },
  other: { readonly at: number; readonly place: number }
): boolean => one.at < other.at || (one.at === other.at && one.place < other.place)
