import type { Rating } from "../rating/Rating.ts"
import { ratings } from "../rating/ratings.ts"
import { second_ms } from "../wire/Timestamp.ts"
import type { Part } from "./script.ts"

/** A fictional carrier and how it answers. */
export interface FictionalCarrier {
  readonly id: string
  readonly name: string
  /** The brand name in product names. */
  readonly brand: string
  readonly mode: "sync" | "poll" | "callback"
  readonly uses_credit: boolean
}

type Character = Omit<FictionalCarrier, "id" | "name">

const sync = { mode: "sync", uses_credit: false } as const

const characters: { readonly [carrier_id: string]: Character } = {
  sbx_harborline: { brand: "Harborline Mutual", ...sync },
  sbx_pinecrest: { brand: "Pinecrest Direct", ...sync },
  sbx_bluefern: { brand: "Bluefern", mode: "poll", uses_credit: false },
  sbx_copperline: { brand: "Copperline Specialty", ...sync },
  sbx_meridian: { brand: "Meridian Lane", mode: "callback", uses_credit: true },
  sbx_lanternway: { brand: "Lanternway", ...sync },
  sbx_brightstoop: { brand: "Brightstoop", ...sync },
  sbx_pawbridge: { brand: "Pawbridge", ...sync },
  sbx_tailhaven: { brand: "Tailhaven", ...sync },
  sbx_whiskerwell: { brand: "Whiskerwell", ...sync }
}

/** The carriers of a line and their places in its scenarios, fastest first. */
const lineupOf = ({ line, carriers }: Rating): ReadonlyMap<string, Part> => {
  const sorted = Object.entries(carriers).toSorted(([, a], [, b]) => a.latency - b.latency)
  return new Map(
    sorted.map(([id, { latency }], position) => [
      id,
      { line, position, count: sorted.length, latency_ms: latency * second_ms }
    ])
  )
}

const parts = new Map(Array.from(ratings, ([line, rating]) => [line, lineupOf(rating)]))

/** A carrier's place in the scenarios of a line; undefined if it does not offer the line. */
export const partOf = (carrier_id: string, line: string): Part | undefined => parts.get(line)?.get(carrier_id)

const nameOf = (carrier_id: string): string | undefined =>
  [...ratings.values()].map(({ carriers }) => carriers[carrier_id]?.name).find((name) => name !== undefined)

/** Every fictional carrier once, ordered by line, then by latency. */
export const fictionalCarrierList: ReadonlyArray<FictionalCarrier> = Object.entries(characters).map(
  ([id, character]) => ({ id, name: nameOf(id) ?? character.brand, ...character })
)
