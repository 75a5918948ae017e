import { mkdirSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { clients } from "./clients.ts"
import * as Host from "./Host.ts"
import * as Kept from "./Kept.ts"
import { toolsOf } from "./model/Script.ts"
import * as Model from "./model/Server.ts"
import * as Run from "./Run.ts"

const { values } = parseArgs({ options: { only: { type: "string" }, records: { type: "string" } } })
const chosen = clients.filter(({ id }) => values.only === undefined || id.includes(values.only))

const play = Effect.gen(function* () {
  const host = yield* Host.start
  yield* Effect.promise(async () => {
    const model = await Model.open(() => setTimeout(() => void host.advance(20), 300))
    for (const client of chosen) {
      const run = await Run.run(client, model, host.base_url)
      const { conversation } = run.heard
      const start = conversation === null ? undefined : toolsOf(conversation).get("start_quote_request")
      const kept = Kept.compare(host.tools.get("start_quote_request")?.inputSchema, start?.parameters)
      console.log(
        client.id,
        run.seconds,
        run.finished,
        run.heard.dialect,
        [...run.seen.versions],
        [...run.seen.names],
        [...run.seen.refused],
        JSON.stringify(kept),
        conversation?.results.length,
        run.heard.fault,
        [...run.heard.unknown]
      )
      if (!run.finished) console.log(run.printed.slice(-1500))
      if (values.records !== undefined) {
        mkdirSync(values.records, { recursive: true })
        writeFileSync(
          `${values.records}/${client.id}.json`,
          JSON.stringify({ ...run.heard, seen: run.seen }, (_, v) => (v instanceof Set ? [...v] : v), 1)
        )
      }
    }
    await model.close()
  })
})
await Effect.runPromise(Effect.provide(play, Host.layer))
process.exit(0)
