import { parseArgs } from "node:util"

/** What to measure, and for how long. */
export interface Flags {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly only: string | null
  readonly quick: boolean
  /** The folder for CPU profiles of the servers; null to write no profiles. */
  readonly profile: string | null
}

/** Parses the command line: `--rounds 12 --seconds 3 --only read --quick --profile profiles`. */
export const read = (): Flags => {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string" },
      seconds: { type: "string" },
      only: { type: "string" },
      profile: { type: "string" },
      quick: { type: "boolean", default: false }
    }
  })
  const { quick } = values
  return {
    rounds: Number(values.rounds ?? (quick ? 3 : 12)),
    seconds: Number(values.seconds ?? (quick ? 1 : 3)),
    connections: 50,
    only: values.only ?? null,
    profile: values.profile ?? null,
    quick
  }
}
