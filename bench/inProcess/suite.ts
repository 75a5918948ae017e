import * as Child from "../Child.ts"
import type { Lived } from "./life.ts"
import type { AtLevel } from "./stored.ts"

const node = ["--expose-gc", "--max-old-space-size=16000"]

/** Measures single steps while more and more requests are stored. */
export const stored = async (levels: ReadonlyArray<number>): Promise<ReadonlyArray<AtLevel>> => {
  const child = Child.start("inProcess/stored.ts", Child.cores.server, { node })
  const all: Array<AtLevel> = []
  for (const requests of levels) {
    all.push(await child.ask<AtLevel>({ requests, repeats: 5 }))
    process.stderr.write(`stored: ${requests}\n`)
  }
  await child.stop()
  return all
}

/** Measures complete lives of requests, until each of these numbers of requests is finished. */
export const lives = async (levels: ReadonlyArray<number>): Promise<ReadonlyArray<Lived>> => {
  const child = Child.start("inProcess/life.ts", Child.cores.server, { node })
  const all: Array<Lived> = []
  for (const requests of levels) {
    all.push(await child.ask<Lived>({ requests: requests - (all.at(-1)?.requests ?? 0), at_once: 100 }))
    process.stderr.write(`lives: ${requests}\n`)
  }
  await child.stop()
  return all
}
