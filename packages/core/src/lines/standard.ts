import type { PersonalAutoFacts } from "./personal_auto/assume.ts"
import { personalAuto } from "./personal_auto/line.ts"
import type { PetFacts } from "./pet/assume.ts"
import { pet } from "./pet/line.ts"
import type { RentersFacts } from "./renters/assume.ts"
import { renters } from "./renters/line.ts"

/** The standard lines, in the order in which they are listed. A host can offer others beside them, or instead. */
export const standardLines = [personalAuto, renters, pet] as const

/** One of the standard lines. */
export type StandardLine = (typeof standardLines)[number]

/** The names of the standard lines. */
export const lineNames = standardLines.map(({ name }) => name)

/** The name of a standard line. */
export type StandardLineName = (typeof lineNames)[number]

interface FactsByLine {
  readonly personal_auto: PersonalAutoFacts
  readonly renters: RentersFacts
  readonly pet: PetFacts
}

/**
 * The facts of a line as carriers get them: with the assumed ones. Facts that a carrier did not declare are absent.
 *
 * For a line of your own, `factsOf` of the line gives them their type.
 */
export type FactsOf<Name extends string> = Name extends StandardLineName ? FactsByLine[Name] : object
