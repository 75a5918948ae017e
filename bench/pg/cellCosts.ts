import { type Change, Storage } from "@quotewire/core"
import { PgCells } from "@quotewire/storage-pg"
import { Effect, Layer, ManagedRuntime } from "effect"
import { median } from "../statistics.ts"
import { cpuOfServers, using } from "./cellServers.ts"
import { again, sample } from "./start.ts"

/*
 * Measures what a start costs the databases in one cell, and in four cells on two servers: `npx node bench/pg/cellCosts.ts` after a build, two
 * minutes. The numbers on the command line are rounds, seconds, starts at a time and workspaces.
 */

const [rounds = 5, seconds = 4, at_once = 64, workspaces = 32] = process.argv.slice(2).map(Number)

let n = 0

/** Commits starts until the time is over, and returns how many, and the CPU time of each. */
const commitStarts = async (
  port: Storage.Storage["Service"],
  start: Change.Change,
  cpu: () => number,
  for_ms: number
) => {
  const before = cpu()
  const began = performance.now()
  let starts = 0
  const lane = async () => {
    while (performance.now() - began < for_ms) {
      n++
      await Effect.runPromise(port.commit(again(start, 1 + (n % workspaces), n)))
      starts++
    }
  }
  await Promise.all(Array.from({ length: at_once }, lane))
  const took_s = (performance.now() - began) / 1e3
  return { us: (1e6 * (cpu() - before)) / starts, per_second: starts / took_s }
}

const start = await Effect.runPromise(sample)
await using(1, 1, (one) =>
  using(2, 4, async (four) => {
    const open = ({ cells, servers }: typeof one) => ({
      runtime: ManagedRuntime.make(Layer.orDie(PgCells.layer(cells))),
      cpu: () => cpuOfServers(servers)
    })
    const contenders = [open(one), open(four)] as const
    const all: ReadonlyArray<Array<{ readonly us: number; readonly per_second: number }>> = [[], []]
    for (let round = -1; round < rounds; round++) {
      for (const place of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const contender = contenders[place]
        if (contender === undefined) continue
        const port = await contender.runtime.runPromise(Storage.Storage)
        const measured = await commitStarts(port, start, contender.cpu, seconds * 1e3)
        if (round >= 0) all[place]?.push(measured)
      }
    }
    for (const [place, name] of ["one cell", "four cells on two servers"].entries()) {
      const us = median((all[place] ?? []).map(({ us }) => us))
      const per_second = median((all[place] ?? []).map(({ per_second }) => per_second))
      console.log(`${name}: ${us.toFixed(0)} µs of the databases per start, ${Math.round(per_second)} starts a second`)
    }
    const ratios = (all[1] ?? []).map(({ us }, round) => us / (all[0]?.[round]?.us ?? us))
    console.log(`four of one: ${median(ratios).toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(", ")})`)
    for (const { runtime } of contenders) await runtime.dispose()
  })
)
