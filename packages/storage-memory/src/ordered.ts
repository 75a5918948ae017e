/*
 * Functions for ordered arrays, which are either sorted arrays or heaps. No two items in an array compare as equal.
 *
 * Inserting an item into a sorted array moves the items behind it. Most items arrive in order, so they are appended.
 * Jobs become due in any order, and their leases end in any order, so they are in heaps.
 */

/**
 * Compares two keys. The result is negative if the first key comes before the second, positive if the first comes after
 * the second, and zero if they are equal.
 */
export type Compare<Key> = (first: Key, second: Key) => number

/** Orders strings by their code units. */
export const compareText: Compare<string> = (a, b) => (a === b ? 0 : a < b ? -1 : 1)

/** The index of the first item that does not come before a key; the array's length if all items come before it. */
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

/** Inserts an item into a sorted array. */
export const insert = <Key, Item extends Key>(items: Array<Item>, item: Item, compare: Compare<Key>): void => {
  const last = items.at(-1)
  // Most items arrive in order, so they go to the end.
  if (last === undefined || compare(last, item) < 0) items.push(item)
  else items.splice(indexFrom(items, item, compare), 0, item)
}

/** Removes the item that is equal to a key from a sorted array, if there is one. */
export const remove = <Key, Item extends Key>(items: Array<Item>, key: Key, compare: Compare<Key>): void => {
  const at = indexFrom(items, key, compare)
  const item = items[at]
  if (item !== undefined && compare(item, key) === 0) items.splice(at, 1)
}

/** An item of a heap. It knows where it is, so that it can be removed without a search. */
export interface HeapItem {
  /** The item's index in its heap. Only the functions for heaps change it. */
  at: number
}

/** Adds an item to a heap, an array in which no item comes before its parent. An item can be in only one heap. */
export const push = <Item extends HeapItem>(heap: Array<Item>, item: Item, compare: Compare<Item>): void => {
  heap.push(item)
  settle(heap, item, heap.length - 1, compare)
}

/** Removes an item from the heap that it is in. */
export const take = <Item extends HeapItem>(heap: Array<Item>, item: Item, compare: Compare<Item>): void => {
  const last = heap.pop()
  if (last !== undefined && last !== item) settle(heap, last, item.at, compare)
}

/** Fills a free position in a heap with an item, and moves the item up or down until the heap is in order. */
const settle = <Item extends HeapItem>(heap: Array<Item>, item: Item, free: number, compare: Compare<Item>): void => {
  let at = free
  while (at > 0) {
    const above = (at - 1) >> 1
    const parent = heap[above]
    if (parent === undefined || compare(parent, item) < 0) break
    place(heap, parent, at)
    at = above
  }
  while (true) {
    const left = heap[2 * at + 1]
    const right = heap[2 * at + 2]
    const isRight = left !== undefined && right !== undefined && compare(right, left) < 0
    const child = isRight ? right : left
    if (child === undefined || compare(item, child) < 0) break
    place(heap, child, at)
    at = 2 * at + (isRight ? 2 : 1)
  }
  place(heap, item, at)
}

const place = <Item extends HeapItem>(heap: Array<Item>, item: Item, index: number): void => {
  heap[index] = item
  item.at = index
}
