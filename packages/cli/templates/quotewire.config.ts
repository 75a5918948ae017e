import { defineConfig } from "@quotewire/core" //? !rate-plan
import { defineConfig, ratePlanCarrier } from "@quotewire/core" //? rate-plan
import { jsonPolls } from "./carriers/json-polls.ts" //? json
import plan from "./carriers/rate-plan.json" with { type: "json" } //? rate-plan
import { xml } from "./carriers/xml.ts" //? xml
import { config as bicycles } from "./lines/bicycle.ts" //? line

//? json|xml
const {
  // By default, the practice API that `npm run carrier` serves.
  CARRIER_URL = "http://localhost:8799",
  CARRIER_CLIENT_ID = "practice",
  CARRIER_CLIENT_SECRET = "practice"
} = process.env
const values = { client_id: CARRIER_CLIENT_ID, client_secret: CARRIER_CLIENT_SECRET }

/** The sandbox's connection values, for carriers that need them. In production, each organization has its own. */
export const sandbox_connections = { "naic:10001": values } //? json
export const sandbox_connections = { "naic:10002": values } //? xml

//?
/** The carriers and insurance lines that this service offers. The tests use this configuration too. */
export default defineConfig({
  lines: bicycles.lines, //? line
  sandbox_connections, //? json|xml
  // Your own carriers. The sandbox also has fictional carriers.
  carriers: [
    ...(bicycles.carriers ?? []), //? line
    jsonPolls(CARRIER_URL) //? json
    xml(CARRIER_URL) //? xml
    ratePlanCarrier(plan, { environments: ["sandbox", "live"] }) //? rate-plan
  ]
})
