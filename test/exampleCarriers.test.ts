import { createHmac } from "node:crypto"
import { assert, describe, it, vi } from "@effect/vitest"
import { callbacks } from "../examples/carriers/callbacks.ts"
import { jsonPolls } from "../examples/carriers/json-polls.ts"
import { startCarrier } from "../examples/carriers/server.ts"
import { type Weather, weathers } from "../examples/carriers/weather.ts"
import { xml } from "../examples/carriers/xml.ts"
import { type AdapterAt, application, callback_secret, practise } from "./support/practice.ts"

const callbacksAt: AdapterAt = (base_url, terms) => callbacks(base_url, callback_secret, terms)

const adapters = [
  { name: "json-polls.ts", at: jsonPolls },
  { name: "xml.ts", at: xml },
  { name: "callbacks.ts", at: callbacksAt }
]
const w: ReadonlyArray<Weather> = [
  "fair",
  "token_ends",
  "busy",
  "burst",
  "maintenance",
  "slow",
  "late",
  "garbage",
  "huge",
  "bomb",
  "redirect",
  "twice"
]

describe.each(adapters)("$name", ({ name, at }) => {
  it.each(w)("%s", async (weather) => {
    await using world = await practise(at)
    world.carrier.turn(weather)
    const t0 = performance.now()
    const id = await world.start()
    const result = await world.passUntil(id)
    console.log(
      name,
      weather,
      JSON.stringify({ result, warnings: world.warnings, told: await world.told(id), log: world.carrier.log }, null, 1),
      performance.now() - t0
    )
  })
})
void createHmac
void vi
void startCarrier
void weathers
void application
void assert
