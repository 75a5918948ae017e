import { assert, layer } from "@effect/vitest"
import axe from "axe-core"
import { Effect, Layer } from "effect"
import { CardProgram, cardProgram, type ToolResult } from "./card/CardProgram.ts"
import { agentHosts } from "./host.ts"

const program = Layer.provideMerge(cardProgram, agentHosts())

/** The text of a part of the tool's page, as a person reads it after expanding everything. */
const textOf = Effect.fnUntraced(function* (part: string) {
  const { card } = yield* CardProgram
  yield* Effect.promise(() =>
    card.locator("details").evaluateAll((all) => {
      for (const one of all) one.setAttribute("open", "")
    })
  )
  // biome-ignore lint/performance/useDomNodeTextContent: the visible text, with its line breaks
  return yield* Effect.promise(() => card.locator(part).first().innerText())
})
const text = textOf("body")

/** The names of the carriers in quote order. */
const carriers = Effect.gen(function* () {
  const { card } = yield* CardProgram
  return yield* Effect.promise(() => card.locator("article h2").allInnerTexts())
})

/** Plays a scenario to its end, and shows the request. */
const shown = Effect.fnUntraced(function* (line: "personal_auto" | "renters", scenario: string, seconds = 61) {
  const { advance, call, open, start } = yield* CardProgram
  const id = yield* start(line, scenario)
  yield* open("get_quote_request")
  yield* advance(seconds)
  return yield* call("get_quote_request", { id, wait_seconds: 0 })
})

// Tests read and change results as a program in a different language would.
// biome-ignore lint/suspicious/noExplicitAny: its content is what the test checks
const contentOf = (result: ToolResult): any => result.structuredContent

/** The result with some parts replaced. */
const changed = (result: ToolResult, change: (content: ReturnType<typeof contentOf>) => void): ToolResult => {
  const copy = structuredClone(result)
  change(contentOf(copy))
  return copy
}

/** The findings of axe on a page, each with its element. */
const findings = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))"

layer(program, { excludeTestServices: true, timeout: 60_000 })("a program that shows UI pages", (it) => {
  it.effect("the quote card shows quotes as they arrive, even if the model reads only changes", () =>
    Effect.gen(function* () {
      const { advance, call, open, start } = yield* CardProgram
      const id = yield* start("renters", "quotes_ready")
      yield* open("get_quote_request")
      assert.include(yield* text, "Waiting for the response.")
      yield* call("get_quote_request", { id, wait_seconds: 0 })
      assert.match(yield* text, /No quotes yet\n+(?:Waiting to start|Asking carriers)\./)
      yield* advance(4)
      const some = yield* call("get_quote_request", { id, wait_seconds: 0 })
      assert.match(
        yield* text,
        /2 quotes \(sandbox\)\n+Offers are arriving. 2 of 3 carriers answered\. The order is not a ranking\./
      )
      assert.match(yield* text, /Carriers without a quote\s+Brightstoop Home has not answered yet\./)
      yield* advance(60)
      const since_version = contentOf(some).quote_request.version
      const last = yield* call("get_quote_request", { id, since_version, only_changes: true, wait_seconds: 0 })
      assert.lengthOf(contentOf(last).quotes, 1)
      const all = yield* call("get_quote_request", { id, wait_seconds: 0 })
      const names = contentOf(all).quotes.map(({ source }: { source: { carrier: { name: string } } }) =>
        source.carrier.name.replace(" (sandbox)", "")
      )
      yield* open("get_quote_request")
      yield* call("get_quote_request", { id, since_version, only_changes: true, wait_seconds: 0 })
      assert.deepStrictEqual(yield* carriers, names)
      assert.lengthOf(names, 3)
    })
  )

  it.effect("the quote card shows prices, coverages, fees, assumptions, disclosures and price validity", () =>
    Effect.gen(function* () {
      const { strays } = yield* CardProgram
      const result = yield* shown("renters", "quotes_ready")
      const page = yield* text
      for (const { price } of contentOf(result).quotes) assert.include(page, price.display)
      for (const { label } of contentOf(result).quotes[0].evidence.assumptions) assert.include(page, label)
      assert.match(
        page,
        /The same for every quote\s+Coverage\s+Rented apartment in NY\s+Personal property\s+up to \$30,000/
      )
      assert.match(page, /Policy fee\s+\$5\s+The price includes them\./)
      assert.match(page, /\$13\.84 a month\s+\$166\.04 for 12 months/)
      // What all names and prices have in common is shown once.
      assert.match(page, /^3 quotes \(sandbox\)\s/)
      assert.lengthOf(page.match(/\(sandbox\)/g) ?? [], 1)
      assert.lengthOf(page.match(/Per month of cover, for comparing offers/g) ?? [], 1)
      assert.match(page, /Deductible\s+\$500\s/)
      assert.match(page, /Available until \w+ \d+, \d{4}, \d+:\d\d\s[AP]M/)
      assert.include(page, "A quote is an offer of a price, not coverage.")
      assert.include(page, "Renters insurance usually does not cover flood or earthquake damage.")
      assert.include(page, "This is a sandbox: carriers and prices are fictional.")
      assert.notMatch(page, /\b(?:best|cheapest|recommended)\b/i)
      assert.deepStrictEqual(strays, [])
    })
  )

  it.effect("the quote card shows shared coverage once, and the differences in each quote", () =>
    Effect.gen(function* () {
      const { send } = yield* CardProgram
      const result = yield* shown("renters", "quotes_ready")
      yield* send(
        changed(result, ({ quotes: [first] }) => {
          first.coverage.subjects[0].coverages[0].limit.amount_minor = 1_234_500
          first.coverage.conditions.push("Needs a lock.")
        })
      )
      const own = yield* textOf("article")
      assert.match(own, /Coverage that differs\s+Rented apartment in NY\s+Personal property\s+up to \$12,345\s+Fees/)
      assert.match(own, /Conditions\s+Needs a lock\./)
      const common = yield* textOf(".shared")
      assert.notInclude(common, "Personal property")
      assert.include(common, "Loss of use")
    })
  )

  it.effect("the quote card explains why there are no quotes, or why a carrier made no offer", () =>
    Effect.gen(function* () {
      const { open, call } = yield* CardProgram
      yield* shown("personal_auto", "zero_quotes")
      assert.match(yield* text, /No quotes\s+No carrier made an offer/)
      assert.match(yield* text, /Carriers without a quote\s+Harborline Mutual \(sandbox\) declined: /)
      yield* shown("renters", "some_carriers_silent")
      assert.match(yield* text, /gave no answer: timeout/)
      yield* shown("renters", "cannot_start")
      assert.include(yield* text, "The request could not be started.")
      yield* open("get_quote")
      yield* call("get_quote", { id: "qt_00000000000000000000000000" })
      assert.match(yield* text, /^There are no quotes to show\s+\S/)
    })
  )

  it.effect("the quote card shows a carrier's question, and labels unknown values and expired quotes", () =>
    Effect.gen(function* () {
      const { advance, call, card, open } = yield* CardProgram
      yield* shown("renters", "action_required", 8)
      assert.match(yield* text, /A carrier asks\s+In which year was the building built\?/)
      yield* shown("renters", "price_unknown")
      assert.include(yield* text, "Price unknown")
      yield* shown("renters", "expiry_unknown")
      assert.include(yield* text, "No end date stated")
      const result = yield* shown("renters", "single_quote")
      yield* advance(40 * 86_400)
      yield* open("get_quote")
      yield* call("get_quote", { id: contentOf(result).quotes[0].id })
      assert.match(yield* text, /^A quote\s/)
      assert.include(yield* text, "No longer available. This quote has expired.")
      assert.strictEqual(yield* Effect.promise(() => card.getByRole("button").count()), 0)
    })
  )

  it.effect(
    "the quote card opens the carrier's page by keyboard, but only through the program that shows the card",
    () =>
      Effect.gen(function* () {
        const { card, open, opened, page, send, strays } = yield* CardProgram
        const result = yield* shown("renters", "single_quote")
        const [action] = contentOf(result).quotes[0].next_actions
        const button = card.getByRole("button", { name: /^Continue at / })
        yield* Effect.promise(async () => {
          await button.focus()
          await page.keyboard.press("Enter")
        })
        assert.deepStrictEqual(yield* opened, [action.url])
        yield* open("get_quote_request", { opensLinks: false })
        yield* send(result)
        yield* Effect.promise(() => button.click())
        yield* Effect.promise(() => card.getByText(`To continue, open ${action.url}`).waitFor())
        assert.deepStrictEqual(strays, [])
      })
  )

  it.effect("the quote card renders hostile carrier text as plain text", () =>
    Effect.gen(function* () {
      const { card, opened, page, send, strays } = yield* CardProgram
      const result = yield* shown("renters", "quotes_ready")
      const hostile = `<img src="https://evil.example/x" onerror="document.title='hurt'"><script>document.title='hurt'</script>`
      yield* send(
        changed(result, ({ quote_request, quotes: [one, two, three] }) => {
          one.source.carrier.name = hostile
          one.coverage.conditions.push(hostile, "\u202eflipped")
          one.evidence.assumptions[0].label = hostile
          one.coverage.subjects[0].label = hostile
          one.next_actions[0].url = "javascript:document.title='hurt'"
          two.source.carrier.name = "x".repeat(10_000)
          two.source.product = "long ".repeat(2_000)
          two.next_actions[0].url = "http://evil.example/"
          three.price.fees = [{ code: hostile, amount: { amount_minor: 100, currency: "USD" } }]
          three.next_actions[0].url = "https://carrier.example/go"
          quote_request.carriers[0] = { ...quote_request.carriers[0], outcome: "declined", message: hostile }
        })
      )
      assert.strictEqual(yield* Effect.promise(() => card.locator("img, a, iframe, svg, main script").count()), 0)
      assert.include(yield* text, `<img src="https://evil.example/x"`)
      assert.notInclude(yield* text, "javascript:")
      assert.include(yield* text, "To continue, open http://evil.example/")
      assert.strictEqual(yield* Effect.promise(() => card.getByRole("button").count()), 1)
      const frame = page.frames().at(-1)
      assert.strictEqual(yield* Effect.promise(() => frame?.title() ?? Promise.reject(new Error("no frame"))), "Quotes")
      yield* Effect.promise(() => card.getByRole("button").click())
      assert.deepStrictEqual(yield* opened, ["https://carrier.example/go"])
      assert.deepStrictEqual(strays, [])
    })
  )

  it.effect("the quote card fits a narrow window, and follows the program's theme", () =>
    Effect.gen(function* () {
      const { card, change, page, send } = yield* CardProgram
      const result = yield* shown("personal_auto", "quotes_ready")
      yield* send(
        changed(result, ({ quotes: [one] }) => {
          one.source.carrier.name = "x".repeat(10_000)
        })
      )
      yield* Effect.promise(() => page.setViewportSize({ width: 320, height: 600 }))
      const overflow = yield* Effect.promise(() =>
        card.locator("html").evaluate((root) => root.scrollWidth - root.clientWidth)
      )
      assert.isAtMost(overflow, 0)
      const backgroundOf = Effect.promise(() =>
        card.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor)
      )
      const light = yield* backgroundOf
      yield* change({ theme: "dark" })
      const dark = yield* backgroundOf
      assert.deepStrictEqual([light, dark], ["rgb(255, 255, 255)", "rgb(28, 30, 33)"])
      yield* Effect.promise(() => page.setViewportSize({ width: 900, height: 600 }))
    })
  )

  it.effect("the quote card collapses everything except the price, and expands by keyboard", () =>
    Effect.gen(function* () {
      const { card, page } = yield* CardProgram
      yield* shown("renters", "quotes_ready")
      const summary = card.locator("article summary").first()
      const fees = card.locator("article").first().getByRole("heading", { name: "Fees" })
      assert.isFalse(yield* Effect.promise(() => fees.isVisible()))
      yield* Effect.promise(async () => {
        await summary.focus()
        await page.keyboard.press("Enter")
        await fees.waitFor({ state: "visible" })
      })
      yield* shown("renters", "single_quote")
      assert.isTrue(yield* Effect.promise(() => fees.isVisible()))
    })
  )

  it.effect("the quote card passes axe's accessibility checks, collapsed and expanded", () =>
    Effect.gen(function* () {
      const { page } = yield* CardProgram
      yield* shown("personal_auto", "quotes_ready")
      const frame = page.frames().at(-1) ?? assert.fail("no frame")
      yield* Effect.promise(() => frame.evaluate(axe.source))
      const found = Effect.promise(() => frame.evaluate(findings))
      assert.deepStrictEqual(yield* found, [])
      yield* text
      assert.deepStrictEqual(yield* found, [])
    })
  )

  it.effect("the quote card shows a cancelled call as stopped", () =>
    Effect.gen(function* () {
      const { cancel, open } = yield* CardProgram
      yield* open("get_quote_request")
      yield* cancel
      assert.match(yield* text, /^No response\s+The call was stopped\./)
    })
  )
})
