import { defineConfig } from "@quotewire/core"
import { callbacks } from "./callbacks.ts"
import { jsonPolls } from "./json-polls.ts"
import { xml } from "./xml.ts"
import { xmlPolls } from "./xml-polls.ts"

/** The address at which `npx node examples/carriers/server.ts` listens. */
const base_url = "http://localhost:8799"
/** The practice carrier accepts any credentials. */
const values = { client_id: "practice", client_secret: "practice" }

export default defineConfig({
  carriers: [jsonPolls(base_url), xml(base_url), callbacks(base_url, "practice"), xmlPolls(base_url)],
  sandbox_connections: { "naic:10001": values, "naic:10002": values, "naic:10003": values, "naic:10004": values },
  fictional_carriers: false
})
