import { parseArgs } from "node:util"
import * as Chance from "./Chance.ts"
import { play } from "./chaos.ts"
import { endConnections, killHost, pauseHost, restartDatabase } from "./Faults.ts"
import { moveCell } from "./Moves.ts"

/*
 * npm run chaos -- [--seed N] [--cycles N] [--minutes N] [--cells N]
 *
 * Kills hosts and connections, pauses hosts and restarts the database under load, so often, and judges what has come of it.
 * Several cells are on two databases, and move between them.
 */

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: `${Math.floor(Math.random() * 1e9)}` },
    cycles: { type: "string", default: "100" },
    minutes: { type: "string", default: "20" },
    cells: { type: "string", default: "1" }
  }
})
const seed = Number(values.seed)
const cycles = Number(values.cycles)
const cells = Number(values.cells)
const chance = Chance.make(seed)
// Each kill or pause of a host is a cycle; now and then the database suffers too.
const faults = Array.from({ length: cycles }, () => {
  if (cells > 1 && chance.next() < 0.2) return [moveCell]
  const drawn = chance.next()
  if (drawn > 0.97) return [pauseHost]
  return drawn < 0.1 ? [restartDatabase, killHost] : drawn < 0.3 ? [endConnections, killHost] : [killHost]
}).flat()

console.log(`seed ${seed}, ${cycles} cycles, ${cells} ${cells === 1 ? "cell" : "cells"}`)
const run = await play({ seed, cells, faults, most_ms: Number(values.minutes) * 60_000, say: console.log })
console.log(JSON.stringify(run, null, 2))
if (run.findings.length > 0) process.exitCode = 1
