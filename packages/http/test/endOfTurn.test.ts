import { setImmediate } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import { atEndOfTurn } from "../src/node/NodeMessages.ts"

const written = () => {
  const items: Array<number> = []
  return { items, write: atEndOfTurn<number>((item) => items.push(item)) }
}

describe("responses that are ready in one event-loop turn", () => {
  it("are written when the turn ends, in order", async () => {
    const { items, write } = written()
    for (const item of [1, 2, 3]) write(item)
    expect(items).toEqual([])
    await setImmediate()
    expect(items).toEqual([1, 2, 3])
    write(4)
    await setImmediate()
    expect(items).toEqual([1, 2, 3, 4])
  })

  it("are written as soon as eight are ready", async () => {
    const { items, write } = written()
    for (let item = 1; item <= 7; item++) write(item)
    expect(items).toEqual([])
    write(8)
    expect(items).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    write(9)
    await setImmediate()
    expect(items).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it("are written even if writing an earlier response fails", () => {
    const items: Array<number> = []
    const write = atEndOfTurn<number>((item) => {
      if (item === 3) throw new Error(`not ${item}`)
      items.push(item)
    })
    for (let item = 1; item <= 7; item++) write(item)
    expect(() => write(8)).toThrow("not 3")
    expect(items).toEqual([1, 2, 4, 5, 6, 7, 8])
  })
})
