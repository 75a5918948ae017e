import { parseArgs } from "node:util"

/** What is measured, and how long. */
export interface Flags {
  readonly rounds: number
  readonly seconds: number
  readonly warmup_seconds: number
  readonly connections: number
  readonly only: string | null
  readonly quick: boolean
}

/** Reads the command line: `--rounds 12 --seconds 3 --only read --quick`. */
export const read = (): Flags => {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string" },
      seconds: { type: "string" },
      only: { type: "string" },
      quick: { type: "boolean", default: false }
    }
  })
  const { quick } = values
  return {
    rounds: Number(values.rounds ?? (quick ? 3 : 12)),
    seconds: Number(values.seconds ?? (quick ? 1 : 3)),
    warmup_seconds: quick ? 1 : 2,
    connections: 50,
    only: values.only ?? null,
    quick
  }
}
