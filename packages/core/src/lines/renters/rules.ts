import type { Rules } from "../Application.ts"
import { checkAddress, checkCommon } from "../SharedFacts.ts"
import type { Renters } from "./facts.ts"

/** The rules for renters insurance that its JSON Schema cannot express. */
export const rules: Rules<Renters> = (draft, today, problems) => {
  checkCommon(draft, today, problems)
  checkAddress(draft.dwelling?.address, "application.dwelling.address", problems)
}
