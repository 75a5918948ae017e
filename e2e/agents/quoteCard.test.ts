import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CardProgram, cardProgram } from "./card/CardProgram.ts"
import { agentHosts } from "./host.ts"

const program = Layer.provideMerge(cardProgram, agentHosts())

layer(program, { excludeTestServices: true, timeout: 60_000 })("a card of quotes in a program that shows pages", (it) => {
  it.effect("look", () =>
    Effect.gen(function* () {
      const { advance, call, change, open, page, start, strays } = yield* CardProgram
      const shot = (name: string, width: number) => Effect.promise(async () => {
        await page.setViewportSize({ width, height: 600 })
        await page.waitForTimeout(300)
        await page.screenshot({ path: `/tmp/cards/${name}.png`, fullPage: true })
      })
      page.on("console", (m) => console.log("console:", m.text()))
      page.on("pageerror", (m) => console.log("error:", m.message))
      const id = yield* start("renters", "quotes_ready")
      yield* open("get_quote_request")
      yield* shot("waiting", 760)
      yield* advance(3)
      yield* call("get_quote_request", { id, wait_seconds: 0 })
      yield* shot("some", 760)
      yield* advance(60)
      yield* open("get_quote_request")
      const result = yield* call("get_quote_request", { id, wait_seconds: 0 })
      console.log(JSON.stringify(result).slice(0, 3000))
      yield* shot("renters", 760)
      yield* change({ theme: "dark" })
      yield* shot("renters-dark", 760)
      yield* shot("renters-narrow", 340)
      const auto = yield* start("personal_auto", "quotes_ready")
      yield* advance(60)
      yield* open("get_quote_request")
      yield* call("get_quote_request", { id: auto, wait_seconds: 0 })
      yield* shot("auto", 900)
      assert.deepStrictEqual(strays, [])
    })
  )
})
