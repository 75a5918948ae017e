import { example as personal_auto } from "../../../core/src/lines/personal_auto/example.ts"
import { example as pet } from "../../../core/src/lines/pet/example.ts"
import { example as renters } from "../../../core/src/lines/renters/example.ts"

/** Small example applications of the standard insurance lines, for the user to start with. */
export const applications: Readonly<Record<string, object>> = { personal_auto, pet, renters }
