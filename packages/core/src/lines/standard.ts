import type { Scalar } from "./Application.ts"
import type { PersonalAutoFacts } from "./personal_auto/complete.ts"
import { personalAuto } from "./personal_auto/line.ts"
import type { PetFacts } from "./pet/complete.ts"
import { pet } from "./pet/line.ts"
import type { RentersFacts } from "./renters/complete.ts"
import { renters } from "./renters/line.ts"

/** The standard lines, in the order in which they are listed. A host can offer other lines in addition or instead. */
export const standardLines = [personalAuto, renters, pet] as const

/** Any of the standard lines. */
export type StandardLine = (typeof standardLines)[number]

/** The names of the standard lines. */
export const lineNames = standardLines.map(({ name }) => name)

/** The name of a standard line. */
export type StandardLineName = (typeof lineNames)[number]

/** The paths of all facts in a type, with `*` for every item of a list. */
type PathsIn<A> = A extends Scalar | undefined
  ? never
  : A extends ReadonlyArray<infer Item>
    ? `*${Below<Item>}`
    : { [K in keyof A & string]: `${K}${Below<A[K]>}` }[keyof A & string]

type Below<A> = [PathsIn<Exclude<A, undefined>>] extends [never] ? "" : `.${PathsIn<Exclude<A, undefined>>}`

/**
 * The path of a fact in a line, such as `applicant.email` or `drivers.*.first_name`. For a line of your own, the type
 * is `string`; a host checks the path when it starts.
 */
export type FactPath<Name extends string> = Name extends StandardLineName
  ? PathsIn<Extract<StandardLine, { readonly name: Name }>["example"]>
  : string

interface FactsByLine {
  readonly personal_auto: PersonalAutoFacts
  readonly renters: RentersFacts
  readonly pet: PetFacts
}

/**
 * A line's facts as carriers receive them, including assumed facts. Facts that identify a person are absent unless the
 * carrier declared them.
 *
 * For a line of your own, call the line's `factsOf` to get typed facts.
 */
export type FactsOf<Name extends string> = Name extends StandardLineName ? FactsByLine[Name] : object
