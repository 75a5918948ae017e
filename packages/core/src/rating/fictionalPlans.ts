import { Function, Schema } from "effect"
import bluefernAuto from "./data/bluefern.personal_auto.json" with { type: "json" }
import brightstoopRenters from "./data/brightstoop.renters.json" with { type: "json" }
import copperlineAuto from "./data/copperline.personal_auto.json" with { type: "json" }
import harborlineAuto from "./data/harborline.personal_auto.json" with { type: "json" }
import harborlineRenters from "./data/harborline.renters.json" with { type: "json" }
import lanternwayRenters from "./data/lanternway.renters.json" with { type: "json" }
import meridianAuto from "./data/meridian.personal_auto.json" with { type: "json" }
import pawbridgePet from "./data/pawbridge.pet.json" with { type: "json" }
import pinecrestAuto from "./data/pinecrest.personal_auto.json" with { type: "json" }
import tailhavenPet from "./data/tailhaven.pet.json" with { type: "json" }
import whiskerwellPet from "./data/whiskerwell.pet.json" with { type: "json" }
import { RatePlan } from "./PlanFormat.ts"

/** The fictional carriers' rate plan files, ordered by line. */
export const fictionalPlanFiles: ReadonlyArray<unknown> = [
  harborlineAuto,
  pinecrestAuto,
  bluefernAuto,
  copperlineAuto,
  meridianAuto,
  harborlineRenters,
  lanternwayRenters,
  brightstoopRenters,
  pawbridgePet,
  tailhavenPet,
  whiskerwellPet
]

/**
 * The fictional carriers' rate plans. Scenarios ask these carriers in all states, so their tables include even the
 * states that they do not serve.
 */
export const fictionalPlans = (): ReadonlyArray<RatePlan> => plansIn(fictionalPlanFiles)

const plansIn = Function.memoize((files: ReadonlyArray<unknown>) =>
  Schema.decodeUnknownSync(Schema.Array(RatePlan))(files)
)
