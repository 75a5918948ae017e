import { personalAuto } from "./personal_auto/rating.ts"
import { pet } from "./pet/rating.ts"
import type { Rating } from "./Rating.ts"
import { renters } from "./renters/rating.ts"

/** How the fictional carriers rate each line, by its name. A line that is not here has no fictional carriers. */
export const ratings: ReadonlyMap<string, Rating> = new Map(
  [personalAuto, renters, pet].map((rating) => [rating.line, rating])
)
