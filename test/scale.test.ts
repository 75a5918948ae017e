import { assert, describe, test } from "@effect/vitest"
import { measured } from "../bench/scale/Costs.ts"
import { estimateOf } from "../bench/scale/estimate.ts"
import type { Fleet } from "../bench/scale/Fleet.ts"
import { simulate } from "../bench/scale/simulate.ts"

const span = { warm_up_s: 4, measured_s: 2 }

const fleet = (options: Partial<Fleet>): Fleet => ({
  hosts: 8,
  cells: 8,
  servers: 2,
  cores_per_server: 16,
  cells_per_host: 8,
  starts_per_second: 2_000,
  ...options
})

describe("the simulation of hosts and cells", () => {
  const fleets = [
    fleet({}),
    fleet({ cells_per_host: 2 }),
    fleet({ hosts: 16, cells_per_host: 1 }),
    fleet({ cells: 1, cells_per_host: 1, servers: 1 })
  ]
  test.each(fleets)("agrees with the estimate while the fleet keeps up: %o", (one) => {
    const estimate = estimateOf(one, measured)
    const seen = simulate(one, measured, span)
    assert.closeTo(seen.ended, 1, 0.1)
    assert.closeTo(seen.database_cores / estimate.database_cores, 1, 0.2)
    assert.closeTo(seen.host_cores / estimate.host_cores, 1, 0.2)
  })

  test("shows a fleet that does not keep up", () => {
    const seen = simulate(fleet({ cores_per_server: 1, starts_per_second: 10_000 }), measured, span)
    assert.isAbove(seen.server_load, 0.95)
    assert.isBelow(seen.ended, 0.5)
  })

  test("is the same in every run", () => {
    assert.deepStrictEqual(simulate(fleet({}), measured, span), simulate(fleet({}), measured, span))
  })
})
