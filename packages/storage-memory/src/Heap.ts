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
