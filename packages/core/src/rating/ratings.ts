import { personalAuto } from "./personal_auto/rating.ts"
import { pet } from "./pet/rating.ts"
import type { Rating } from "./Rating.ts"
import { renters } from "./renters/rating.ts"

/** Ratings by the names of their lines. A line without a rating has no rate plans. */
export type Ratings = ReadonlyMap<string, Rating>

const byLine = (all: ReadonlyArray<Rating>): Ratings => new Map(all.map((rating) => [rating.line.name, rating]))

/** The ratings of the standard lines. */
export const ratings: Ratings = byLine([personalAuto, renters, pet])

/** The ratings of the standard lines, plus others. */
export const ratingsWith = (others: ReadonlyArray<Rating>): Ratings =>
  others.length === 0 ? ratings : byLine([...ratings.values(), ...others])
