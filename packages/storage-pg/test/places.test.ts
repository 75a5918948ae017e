import { assert, describe, it } from "@effect/vitest"
import { unmet } from "../src/moves/preconditions.ts"
import { type Place, whereabouts } from "../src/places/Place.ts"

const place = (
  state: "live" | "leaving" | "held" | "left" | "arriving",
  epoch = 0,
  move_id: string | null = null
): Place => ({
  state,
  epoch,
  move_id,
  is_overdue: false
})
const [empty, settled, unknown] = (["empty", "settled", "unknown"] as const).map((state): Place => ({ state }))

describe("the search for a cell's database", () => {
  it.each([
    ["neither database has the schema", empty, null, "first"],
    ["the cell has never moved", settled, empty, "first"],
    ["another database has the schema and no move was made", settled, settled, "first"],
    ["the cell is being copied", place("leaving", 0, "a"), place("arriving", 1, "a"), "first"],
    ["writes are held", place("held", 0, "a"), place("arriving", 1, "a"), "held"],
    ["the cutover is decided", place("left", 0, "a"), place("arriving", 1, "a"), "second"],
    ["a different move is decided", place("left", 0, "a"), place("arriving", 1, "b"), "left"],
    ["the cell has moved", place("left"), place("live", 1), "second"],
    ["the cell has moved, and the source is gone", unknown, place("live", 1), "second"],
    ["the cell has moved, and an old copy was restored", place("live"), place("live", 1), "second"],
    ["the cell has moved, and the settings do not name the target", place("left"), null, "left"],
    ["the target does not have the cell yet", place("arriving", 1, "a"), null, "arriving"],
    ["the target does not respond", settled, unknown, "first"],
    ["the cell has moved to a target that does not respond", place("left"), unknown, "unknown"],
    ["the source does not respond, and nothing has moved", unknown, empty, "unknown"],
    ["the source does not respond during a move", unknown, place("arriving", 1, "a"), "unknown"]
  ] as const)("finds the right database if %s", (_, first, second, where) => {
    assert.strictEqual(first && second !== undefined ? whereabouts(first, second) : null, where)
  })
})

describe("a move", () => {
  const old = {
    version: 140_000,
    wal_level: "logical",
    is_standby: false,
    free_slots: 3,
    free_senders: 3,
    sequences: 0,
    has_aside: false
  }
  const to = { version: 180_000, is_standby: false, workers: 4, has_schema: false }

  it("can start between servers that meet all requirements", () => assert.deepStrictEqual(unmet({ old, new: to }), []))

  it.each([
    ["older than PostgreSQL 14", { ...old, version: 130_020 }, to],
    ["wal_level = logical", { ...old, wal_level: "replica" }, to],
    ["raise max_replication_slots", { ...old, free_slots: 2 }, to],
    ["raise max_wal_senders", { ...old, free_senders: 2 }, to],
    ["standby", { ...old, is_standby: true }, to],
    ["sequences", { ...old, sequences: 1 }, to],
    ["_left", { ...old, has_aside: true }, to],
    ["older than PostgreSQL 14", old, { ...to, version: 130_000 }],
    ["max_logical_replication_workers", old, { ...to, workers: 0 }],
    ["has a schema with the cell's schema name", old, { ...to, has_schema: true }]
  ] as const)('is refused with a reason that contains "%s"', (words, old, to) => {
    const found = unmet({ old, new: to })
    assert.lengthOf(found, 1)
    assert.include(found[0], words)
  })
})
