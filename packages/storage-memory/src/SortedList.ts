/** Negative if the first belongs before the second, positive if after it, zero if they are the same. */
export type Compare<Key> = (first: Key, second: Key) => number

/** The order of texts by their code units. */
export const compareText: Compare<string> = (first, second) => (first === second ? 0 : first < second ? -1 : 1)

/** The index of the first of some sorted items that is not before a key. */
export const indexFrom = <Key, Item extends Key>(
  items: ReadonlyArray<Item>,
  key: Key,
  compare: Compare<Key>
): number => {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    const item = items[middle]
    if (item !== undefined && compare(item, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

// Small enough that an insertion is cheap, large enough that a million items need only a few thousand chunks.
const chunkItems = 512

/**
 * Items in key order: an array in chunks, so that an insertion moves at most one chunk.
 *
 * An item is its own key. Keys must be unique, and must not change while their item is in the list.
 */
export class SortedList<Key, Item extends Key = Key> {
  private readonly compare: Compare<Key>
  /** The chunks, none of which is empty. */
  private readonly chunks: Array<Array<Item>> = []

  constructor(compare: Compare<Key>) {
    this.compare = compare
  }

  get first(): Item | undefined {
    return this.chunks[0]?.[0]
  }

  insert(item: Item): void {
    const tail = this.chunks.at(-1)
    const last = tail?.at(-1)
    // Most items arrive in order.
    if (tail === undefined || last === undefined || this.compare(last, item) < 0) {
      if (tail === undefined || tail.length === chunkItems) this.chunks.push([item])
      else tail.push(item)
      return
    }
    const at = this.chunkOf(item)
    const chunk = this.chunks[at] ?? []
    chunk.splice(indexFrom(chunk, item, this.compare), 0, item)
    if (chunk.length > chunkItems) this.chunks.splice(at + 1, 0, chunk.splice(chunkItems >> 1))
  }

  remove(key: Key): void {
    const at = this.chunkOf(key)
    const chunk = this.chunks[at] ?? []
    const index = indexFrom(chunk, key, this.compare)
    const found = chunk[index]
    if (found === undefined || this.compare(found, key) !== 0) return
    chunk.splice(index, 1)
    const next = this.chunks[at + 1]
    if (chunk.length === 0) {
      this.chunks.splice(at, 1)
    } else if (next !== undefined && chunk.length + next.length <= chunkItems >> 1) {
      this.chunks.splice(at, 2, [...chunk, ...next])
    }
  }

  /** The items after a key, or all of them, ascending. The list must not change during iteration. */
  *upwards(after: Key | null = null): Generator<Item> {
    const start = after === null ? 0 : this.chunkOf(after)
    const chunk = this.chunks[start] ?? []
    for (const item of chunk.slice(after === null ? 0 : indexFrom(chunk, after, this.compare))) {
      if (after === null || this.compare(item, after) !== 0) yield item
    }
    for (let at = start + 1; at < this.chunks.length; at++) yield* this.chunks[at] ?? []
  }

  /** The items before a key, or all of them, descending. The list must not change during iteration. */
  *downwards(before: Key | null = null): Generator<Item> {
    const start = before === null ? this.chunks.length - 1 : this.chunkOf(before)
    const chunk = this.chunks[start] ?? []
    yield* chunk.slice(0, before === null ? chunk.length : indexFrom(chunk, before, this.compare)).reverse()
    for (let at = start - 1; at >= 0; at--) yield* (this.chunks[at] ?? []).toReversed()
  }

  /** The last chunk that begins at or before a key; the first chunk for a key before all items. */
  private chunkOf(key: Key): number {
    let low = 0
    let high = this.chunks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      const first = this.chunks[middle]?.[0]
      if (first !== undefined && this.compare(first, key) <= 0) low = middle
      else high = middle - 1
    }
    return low
  }
}
