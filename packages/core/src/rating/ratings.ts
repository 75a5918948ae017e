import { personalAuto } from "./personal_auto/rating.ts"
import { pet } from "./pet/rating.ts"
import type { Rating } from "./Rating.ts"
import { renters } from "./renters/rating.ts"

/** Ratings by line name. A line without a rating cannot have rate plans. */
export type Ratings = ReadonlyMap<string, Rating>

const byLine = (list: ReadonlyArray<Rating>): Ratings => new Map(list.map((rating) => [rating.line.name, rating]))

/** The ratings of the standard lines. */
export const ratings: Ratings = byLine([personalAuto, renters, pet])

/** The ratings of the standard lines together with the given ratings. */
export const ratingsWith = (ownRatings: ReadonlyArray<Rating>): Ratings =>
  ownRatings.length === 0 ? ratings : byLine([...ratings.values(), ...ownRatings])
