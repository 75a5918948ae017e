// Small enough for the processor's cache, large enough that a million items need only a thousand parts.
const part_items = 1_024

interface Part<A> {
  readonly first: string
  readonly items: Map<string, A>
}

/**
 * Items by id, when most ids arrive in order.
 *
 * The newest ids share a small map; when it is full, the next one begins. One large map would be copied each time it grows,
 * and is slow to add to. An id out of order goes into the part where it belongs, which then grows.
 */
export class ById<A> {
  private readonly parts: Array<Part<A>> = []
  /** The greatest id so far. Ids after it are new without a look-up. */
  private last_id = ""
  private count = 0

  get size(): number {
    return this.count
  }

  get(id: string): A | undefined {
    return id > this.last_id ? undefined : this.partOf(id)?.items.get(id)
  }

  /** Adds an item with a new id. */
  add(id: string, item: A): void {
    const isNewest = id > this.last_id
    const part = isNewest ? this.parts.at(-1) : this.partOf(id)
    if (part === undefined || (isNewest && part.items.size >= part_items)) {
      this.parts.push({ first: id, items: new Map([[id, item]]) })
    } else {
      part.items.set(id, item)
    }
    if (isNewest) this.last_id = id
    this.count += 1
  }

  delete(id: string): void {
    const at = this.placeOf(id)
    const part = this.parts[at]
    if (part?.items.delete(id) !== true) return
    this.count -= 1
    if (part.items.size === 0) this.parts.splice(at, 1)
  }

  *values(): Iterable<A> {
    for (const { items } of this.parts) yield* items.values()
  }

  private partOf(id: string): Part<A> | undefined {
    return this.parts[this.placeOf(id)]
  }

  /** The last part that begins at or before the id; the first part for an id before all others. */
  private placeOf(id: string): number {
    let low = 0
    let high = this.parts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      const part = this.parts[middle]
      if (part !== undefined && part.first <= id) low = middle
      else high = middle - 1
    }
    return low
  }
}
