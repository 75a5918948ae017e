import { personalAuto } from "./personal_auto/rating.ts"
import { pet } from "./pet/rating.ts"
import type { Rating } from "./Rating.ts"
import { renters } from "./renters/rating.ts"

/** The rating of each line, by its name. A line without a rating has no rate plans. */
export const ratings: ReadonlyMap<string, Rating> = new Map(
  [personalAuto, renters, pet].map((rating) => [rating.line.name, rating])
)
