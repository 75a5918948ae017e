import { describe, expect, it } from "@effect/vitest"
import { Heap } from "../src/Ordered.ts"

interface Item {
  key: number
  slot: number
}

const scattered = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe("the heap", () => {
  it("returns the first item first, whatever was removed or moved", () => {
    const random = scattered(19)
    for (let round = 0; round < 200; round++) {
      const heap = new Heap<Item>({
        before: (first, second) => first.key < second.key,
        place: (item, slot) => {
          item.slot = slot
        }
      })
      let items: Array<Item> = []
      for (let step = 0; step < 100; step++) {
        const item = items[random(items.length)]
        const what = random(4)
        if (item === undefined || what < 2) {
          const added = { key: random(1_000), slot: -1 }
          items.push(added)
          heap.push(added)
        } else if (what === 2) {
          heap.remove(item.slot)
          expect(item.slot).toBe(-1)
          items = items.filter((other) => other !== item)
        } else {
          item.key = random(1_000)
          heap.moved(item, item.slot)
        }
        expect(heap.size).toBe(items.length)
        expect(heap.peek()?.key).toBe(items.length === 0 ? undefined : Math.min(...items.map(({ key }) => key)))
      }
      const order: Array<number> = []
      for (let first = heap.peek(); first !== undefined; first = heap.peek()) {
        order.push(first.key)
        heap.remove(0)
      }
      expect(order).toEqual(items.map(({ key }) => key).sort((one, other) => one - other))
    }
  })
})
