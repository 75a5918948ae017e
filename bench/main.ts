import { Effect } from "effect"
import * as flags from "./flags.ts"
import * as suite from "./http/suite.ts"
import * as suites from "./http/suites.ts"
import * as shared from "./shared.ts"

const settings = flags.read()
const isWanted = (name: string): boolean => settings.only === null || settings.only === name
const facts = await Effect.runPromise(shared.make)
for (const one of [suites.read, suites.start]) {
  if (!isWanted(one.name)) continue
  console.log(one.title)
  console.table(await suite.run(one, facts, settings))
}
