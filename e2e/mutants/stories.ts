import * as Grounds from "../simulation/Grounds.ts"
import { play } from "../simulation/play.ts"
import * as Writer from "../simulation/Writer.ts"

/*
 * node --import ./e2e/mutants/sources.ts e2e/mutants/stories.ts SEEDS REQUESTS
 *
 * Plays stories until one breaks a promise, and prints its seed and what was found.
 */

const [seeds, requests] = process.argv.slice(2).map(Number)
if (seeds === undefined || requests === undefined)
  throw new Error("Say how many seeds to play, and with how many requests")
const ground = Grounds.inMemory()
for (let seed = 1; seed <= seeds; seed++) {
  const [finding] = play(Writer.write(seed, { requests }), ground(seed)).findings
  if (finding === undefined) continue
  console.log(JSON.stringify({ seed, finding }))
  break
}
