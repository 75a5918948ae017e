/*
 * Items in order: a sorted list, items by ids that mostly arrive in order, and a heap.
 */

/** Negative if the first item belongs before the second, positive if after it, zero if they are the same. */
export type Compare<A> = (first: A, second: A) => number

/** Where an item is relative to a mark: negative before it, positive after it, zero on it. */
export type FromMark<A> = (item: A) => number

// Small enough for cheap insertion, large enough that a million items need only a few thousand chunks.
const chunk_items = 512

/**
 * A sorted list, in chunks.
 *
 * Items that arrive in order are appended. Others are inserted into a chunk, at a cost that hardly depends on the number of
 * items. No two items may compare as equal.
 */
export class SortedList<A> {
  private readonly compare: Compare<A>
  private readonly chunks: Array<Array<A>> = []

  constructor(compare: Compare<A>) {
    this.compare = compare
  }

  insert(item: A): void {
    const tail = this.chunks.at(-1)
    const last = tail?.at(-1)
    if (tail === undefined || last === undefined) {
      this.chunks.push([item])
    } else if (this.compare(last, item) < 0) {
      if (tail.length < chunk_items) tail.push(item)
      else this.chunks.push([item])
    } else {
      this.insertBetween(item)
    }
  }

  remove(item: A): void {
    const mark: FromMark<A> = (other) => this.compare(other, item)
    const at = this.chunkOf(mark)
    const chunk = this.chunks[at]
    if (chunk === undefined) return
    const index = firstNotBefore(chunk, mark)
    const found = chunk[index]
    if (found === undefined || mark(found) !== 0) return
    chunk.splice(index, 1)
    this.shrink(at, chunk)
  }

  /** Visits the items after the mark, upwards, until the visitor returns false. */
  upwards(mark: FromMark<A>, visit: (item: A) => boolean): void {
    const above: FromMark<A> = (item) => (mark(item) <= 0 ? -1 : 1)
    const start = this.chunkOf(above)
    for (let at = start; at < this.chunks.length; at++) {
      const chunk = this.chunks[at] ?? []
      for (let index = at === start ? firstNotBefore(chunk, above) : 0; index < chunk.length; index++) {
        const item = chunk[index]
        if (item !== undefined && !visit(item)) return
      }
    }
  }

  /** Visits the items before the mark, downwards, until the visitor returns false. */
  downwards(mark: FromMark<A>, visit: (item: A) => boolean): void {
    const start = this.chunkOf(mark)
    for (let at = start; at >= 0; at--) {
      const chunk = this.chunks[at] ?? []
      for (let index = (at === start ? firstNotBefore(chunk, mark) : chunk.length) - 1; index >= 0; index--) {
        const item = chunk[index]
        if (item !== undefined && !visit(item)) return
      }
    }
  }

  private insertBetween(item: A): void {
    const mark: FromMark<A> = (other) => this.compare(other, item)
    const at = this.chunkOf(mark)
    const chunk = this.chunks[at] ?? []
    chunk.splice(firstNotBefore(chunk, mark, nearEnd(chunk, mark)), 0, item)
    if (chunk.length > chunk_items) this.chunks.splice(at + 1, 0, chunk.splice(chunk_items >> 1))
  }

  /** Joins small chunks, so that scattered removals do not leave many nearly empty chunks. */
  private shrink(at: number, chunk: Array<A>): void {
    if (chunk.length === 0) {
      this.chunks.splice(at, 1)
      return
    }
    const next = this.chunks[at + 1]
    if (next === undefined || chunk.length + next.length > chunk_items >> 1) return
    for (const item of next) chunk.push(item)
    this.chunks.splice(at + 1, 1)
  }

  /** The last chunk whose first item is not after the mark. */
  private chunkOf(mark: FromMark<A>): number {
    let low = 0
    let high = this.chunks.length - 1
    const newest = this.chunks[high]?.[0]
    if (newest !== undefined && mark(newest) <= 0) return high
    while (low < high) {
      const middle = (low + high + 1) >> 1
      const first = this.chunks[middle]?.[0]
      if (first !== undefined && mark(first) <= 0) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** A start for the search of the mark's position: near the end, where most items are inserted. */
const nearEnd = <A>(chunk: ReadonlyArray<A>, mark: FromMark<A>): number => {
  for (let back = 1; back < chunk.length; back *= 2) {
    const item = chunk[chunk.length - back]
    if (item !== undefined && mark(item) < 0) return chunk.length - back
  }
  return 0
}

const firstNotBefore = <A>(chunk: ReadonlyArray<A>, mark: FromMark<A>, from = 0): number => {
  let low = from
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >> 1
    const item = chunk[middle]
    if (item !== undefined && mark(item) < 0) low = middle + 1
    else high = middle
  }
  return low
}

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

/** How a heap orders its items and tells them their slots. One value serves every heap of the same kind of item. */
export interface HeapOrder<A> {
  readonly before: (first: A, second: A) => boolean
  /** Records the item's slot in the heap; -1 when the item has left it. */
  readonly place: (item: A, slot: number) => void
}

/** A binary heap whose items know their slots, so that any item can be moved or removed in logarithmic time. */
export class Heap<A> {
  private readonly order: HeapOrder<A>
  private readonly items: Array<A> = []

  constructor(order: HeapOrder<A>) {
    this.order = order
  }

  get size(): number {
    return this.items.length
  }

  /** Every item, in no particular order. */
  get all(): ReadonlyArray<A> {
    return this.items
  }

  peek(): A | undefined {
    return this.items[0]
  }

  push(item: A): void {
    this.items.push(item)
    this.rise(item, this.items.length - 1)
  }

  /** Removes and returns the item in a slot. */
  remove(slot: number): void {
    const item = this.items[slot]
    const last = this.items.pop()
    if (item === undefined || last === undefined) return
    if (item !== last) this.settle(last, slot)
    this.order.place(item, -1)
  }

  /** Moves an item whose order has changed to its new slot. */
  moved(item: A, slot: number): void {
    this.settle(item, slot)
  }

  private settle(item: A, slot: number): void {
    const parent = this.items[(slot - 1) >> 1]
    if (slot > 0 && parent !== undefined && this.order.before(item, parent)) this.rise(item, slot)
    else this.sink(item, slot)
  }

  private rise(item: A, from: number): void {
    let slot = from
    while (slot > 0) {
      const up = (slot - 1) >> 1
      const parent = this.items[up]
      if (parent === undefined || !this.order.before(item, parent)) break
      this.put(parent, slot)
      slot = up
    }
    this.put(item, slot)
  }

  private sink(item: A, from: number): void {
    let slot = from
    for (;;) {
      const left = 2 * slot + 1
      let down = left
      let child = this.items[left]
      if (child === undefined) break
      const right = this.items[left + 1]
      if (right !== undefined && this.order.before(right, child)) {
        down = left + 1
        child = right
      }
      if (!this.order.before(child, item)) break
      this.put(child, slot)
      slot = down
    }
    this.put(item, slot)
  }

  private put(item: A, slot: number): void {
    this.items[slot] = item
    this.order.place(item, slot)
  }
}
