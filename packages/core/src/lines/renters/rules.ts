import { checkAddress, checkCommon } from "../everyLine.ts"
import type { Rules } from "../Rules.ts"
import type { Renters } from "./facts.ts"

/** The rules of renters insurance. */
export const rules: Rules<Renters> = (draft, today, problems) => {
  checkCommon(draft, today, problems)
  checkAddress(draft.dwelling?.address, "application.dwelling.address", problems)
}
