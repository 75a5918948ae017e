import { parseArgs } from "node:util"
import * as Coverage from "./Coverage.ts"
import * as Grounds from "./Grounds.ts"
import * as PgliteGround from "./pglite/Ground.ts"
import { play } from "./play.ts"
import * as States from "./States.ts"
import { linesOf, type Story } from "./Story.ts"
import { shrink } from "./shrink.ts"
import * as Writer from "./Writer.ts"

/*
 * npm run simulate -- [--from N] [--seeds N] [--requests N] [--storage memory|pglite]
 *
 * Plays a story for each seed, and judges it. A failing story is shrunk and printed, with the command to replay it.
 */

const { values } = parseArgs({
  options: {
    from: { type: "string", default: "1" },
    seeds: { type: "string" },
    requests: { type: "string", default: "3" },
    storage: { type: "string", default: "memory" }
  }
})
const onPglite = values.storage === "pglite"
if (!onPglite && values.storage !== "memory") throw new Error("--storage must be memory or pglite")
const from = Number(values.from)
const seeds = Number(values.seeds ?? (onPglite ? 500 : 10_000))
const requests = Number(values.requests)
const inMemory = Grounds.inMemory()
const pglite = onPglite ? await PgliteGround.start() : null
const ground: Grounds.NewGround = pglite?.ground ?? inMemory

const report = (story: Story, findings: ReadonlyArray<string>, newGround: Grounds.NewGround) => {
  console.log(`\nSeed ${story.seed} fails:\n${findings.map((finding) => `  ${finding}`).join("\n")}`)
  const [first = ""] = findings
  const kindOf = (finding: string) => finding.replaceAll(/[a-z]+_[0-9a-z]{26}|\d+/g, "…")
  const smaller = shrink(story, (candidate) =>
    play(candidate, newGround(candidate.seed), States.watched).findings.some(
      (finding) => kindOf(finding) === kindOf(first)
    )
  )
  if (onPglite) {
    const { findings: found } = play(story, inMemory(story.seed), States.watched)
    console.log(`In memory: ${found.length === 0 ? "nothing fails" : found.join("; ")}`)
  }
  console.log(`The smallest story that fails like this:\n${linesOf(smaller).join("\n")}`)
  console.log(
    `Play it again: npm run simulate -- --from ${story.seed} --seeds 1 --requests ${requests} --storage ${values.storage}`
  )
}

const began = performance.now()
const reached = Coverage.none()
let failed = 0
for (let seed = from; seed < from + seeds; seed++) {
  const story = Writer.write(seed, { requests })
  const played = play(story, ground(seed), States.watched)
  Coverage.add(reached, played.reached)
  if (played.findings.length === 0) continue
  failed++
  report(story, played.findings, ground)
}
await pglite?.close()
const minutes = (performance.now() - began) / 60_000
console.log(`\n${seeds} seeds with ${requests} requests, ${Math.round(seeds / minutes)} a minute; ${failed} fail`)
console.log(Coverage.tableOf(reached).join("\n"))
const gaps = Coverage.gaps(reached, seeds)
if (gaps.length > 0) console.log(`Gaps: ${gaps.join(", ")}`)
if (failed > 0 || gaps.length > 0) process.exitCode = 1
