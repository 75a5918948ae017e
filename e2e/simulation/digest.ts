import { createHash } from "node:crypto"
import * as Grounds from "./Grounds.ts"
import { play } from "./play.ts"
import * as Writer from "./Writer.ts"

/*
 * node --import ./e2e/mutants/sources.ts e2e/simulation/digest.ts SEED...
 *
 * Prints a digest of each seed's story: of everything that happened, and of everything that is stored at the end.
 */

const newGround = Grounds.inMemory()

/** The digest of a seed's story. */
export const digestOf = (seed: number): string => {
  const ground = newGround(seed)
  const { trace } = play(Writer.write(seed, { requests: 3 }), ground)
  return createHash("sha256")
    .update([trace, ...(ground.texts?.() ?? [])].join("\n"))
    .digest("hex")
}

if (import.meta.main) console.log(process.argv.slice(2).map(Number).map(digestOf).join("\n"))
