import { example as personal_auto } from "../lines/personal_auto/example.ts"
import { example as pet } from "../lines/pet/example.ts"
import { example as renters } from "../lines/renters/example.ts"

/** A minimal application for each line, for tests about other things. */
export const smallest = { personal_auto, renters, pet }
