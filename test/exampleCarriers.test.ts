import { assert, describe, it, vi } from "@effect/vitest"
import { callbacks } from "../examples/carriers/callbacks.ts"
import { jsonPolls } from "../examples/carriers/json-polls.ts"
import { startCarrier } from "../examples/carriers/server.ts"
import { type Weather, weathers } from "../examples/carriers/weather.ts"
import { xml } from "../examples/carriers/xml.ts"
import { xmlPolls } from "../examples/carriers/xml-polls.ts"
import { type AdapterAt, application, callbackSecret, memberOf, practise, saidOf } from "./support/practice.ts"

/*
 * The adapters of examples/carriers against the practice carrier, over real sockets, with time that passes only while
 * nothing is running.
 */

const callbacksAt: AdapterAt = (baseUrl, terms) => callbacks(baseUrl, callbackSecret, terms)

/** An adapter, and how its carrier is asked in the normal case. */
interface Example {
  readonly name: string
  readonly at: AdapterAt
  readonly premium: number
  readonly refused: { readonly facts: object; readonly reason: string }
  /** The first request of an ask. */
  readonly first: string
  /** What the timeline reports for an ask that succeeds after failed requests. */
  readonly told: (attempt: number, before: ReadonlyArray<string>) => ReadonlyArray<string>
}

const jsonExample: Example = {
  name: "json-polls.ts",
  at: jsonPolls,
  premium: 18_000,
  refused: { facts: { household: { dog_with_bite_history: true } }, reason: "risk_outside_guidelines" },
  first: "POST /json/quotes",
  told: (attempt, before) => [
    `ask ${attempt} pending: ${[...before, "POST /json/quotes 201", "POST /json/quotes/Q-1/rate 200"].join(", ")}`,
    `poll ${attempt} offers: GET /json/quotes/Q-1 200`,
    "quoted"
  ]
}
const xmlExample: Example = {
  name: "xml.ts",
  at: xml,
  premium: 19_000,
  refused: { facts: { household: { claims_last_5_years: 3 } }, reason: "prior_claims" },
  first: "POST /xml",
  told: (attempt, before) => [`ask ${attempt} offers: ${[...before, "POST /xml 200"].join(", ")}`, "quoted"]
}
const xmlPollsExample: Example = {
  name: "xml-polls.ts",
  at: xmlPolls,
  premium: 118_110,
  refused: { facts: { household: { claims_last_5_years: 3 } }, reason: "prior_claims" },
  first: "POST /foolscap",
  told: (attempt, before) => [
    `ask ${attempt} pending: ${[...before, "POST /foolscap 200"].join(", ")}`,
    `poll ${attempt} pending: GET /foolscap/F-1 200`,
    `poll ${attempt} offers: GET /foolscap/F-1 200`,
    "quoted"
  ]
}
const callbacksExample: Example = {
  name: "callbacks.ts",
  at: callbacksAt,
  premium: 17_500,
  refused: {
    facts: { dwelling: { ...application.dwelling, short_term_rental: true } },
    reason: "property_not_eligible"
  },
  first: "POST /applications",
  told: (attempt, before) => [
    `ask ${attempt} pending: ${[...before, "POST /applications 202"].join(", ")}`,
    // A callback does not say which attempt it answers.
    "callback 1 offers: received",
    "quoted"
  ]
}
const examples = [jsonExample, xmlExample, xmlPollsExample, callbacksExample]

/** A bad day: the answer to the first request of each ask, and what the log says. */
interface BadDay {
  readonly weather: Weather
  readonly title: string
  /** The statuses of the requests that fail, by attempt. */
  readonly failures: ReadonlyArray<ReadonlyArray<number>>
  /** Why there is no answer in the end; null if the carrier eventually quotes. */
  readonly reason: string | null
  /** The error that each warning names. */
  readonly fault: string
}

const badDays: ReadonlyArray<BadDay> = [
  {
    weather: "busy",
    title: "asks the carrier again after a 429 with Retry-After",
    failures: [[429]],
    reason: null,
    fault: ""
  },
  {
    weather: "burst",
    title: "gets a quote despite a burst of 503 responses",
    failures: [[503, 503], [503]],
    reason: null,
    fault: "HTTP_503"
  },
  {
    weather: "maintenance",
    title: "reports maintenance when the carrier is closed for an hour",
    failures: [[503]],
    reason: "maintenance",
    fault: "HTTP_503"
  },
  {
    weather: "huge",
    title: "does not read a response of ten megabytes",
    failures: [[200]],
    reason: "unreadable_answer",
    fault: "TOO_LARGE"
  },
  {
    weather: "bomb",
    title: "does not decompress a response to ten megabytes",
    failures: [[200]],
    reason: "unreadable_answer",
    fault: "TOO_LARGE"
  },
  {
    weather: "redirect",
    title: "does not follow a redirect",
    failures: [[302]],
    reason: "carrier_error",
    fault: "HTTP_302"
  }
]

const notUsable = (reason: string, status: number | null, code: string) => ({
  text: "A carrier was unreachable or sent no usable answer",
  reason,
  status,
  fault: `CarrierHttpError ${code}`,
  ...(code === "TOO_LARGE" && {
    broken_rules: "Must be at most 1048576 bytes. To raise the limit, set http.max_bytes."
  })
})

describe.each(examples)("the example adapter $name", ({ name, at, premium, refused, first, told }) => {
  it.each(["sandbox", "live"] as const)(
    "returns the carrier's price, and the carrier's refusal, in %s",
    async (environment) => {
      await using world = await practise(at)
      const { start, ended } = await world.join(world.quotewire, environment, "Borealis")
      assert.deepStrictEqual(await ended(await start()), ["quoted", premium])
      assert.deepStrictEqual(await ended(await start(refused.facts)), ["declined", refused.reason])
      assert.deepStrictEqual(world.warnings, [])
    }
  )

  for (const { weather, title, failures, reason, fault } of badDays) {
    it(title, async () => {
      await using world = await practise(at)
      world.carrier.turn(weather)
      const id = await world.start()
      assert.deepStrictEqual(await world.ended(id), reason === null ? ["quoted", premium] : ["no_answer", reason])
      const callsOf = (statuses: ReadonlyArray<number>) => statuses.map((status) => `${first} ${status}`)
      // The attempts that fail as a whole. If the carrier eventually quotes, the last one does not.
      const failed = reason === null ? failures.slice(0, -1) : failures
      const why = reason ?? "carrier_error"
      assert.deepStrictEqual(await world.told(id), [
        "asked",
        ...failed.map((statuses, index) => `ask ${index + 1} unavailable ${why}: ${callsOf(statuses).join(", ")}`),
        ...(reason === null ? told(failures.length, callsOf(failures.at(-1) ?? [])) : [`no_answer ${reason}`])
      ])
      assert.deepStrictEqual(
        saidOf(world.warnings, id),
        failed.map((statuses) => notUsable(why, statuses[0] ?? null, fault))
      )
      assert.notInclude(world.carrier.log, "GET /private 401")
    })
  }

  it("returns unreadable_answer if the carrier answers with garbage", async () => {
    await using world = await practise(at)
    world.carrier.turn("garbage")
    const id = await world.start()
    const reason = "unreadable_answer"
    assert.deepStrictEqual(await world.ended(id), ["no_answer", reason])
    assert.deepStrictEqual(await world.told(id), [
      "asked",
      `ask 1 unavailable ${reason}: ${first} 200`,
      `no_answer ${reason}`
    ])
    assert.deepStrictEqual(saidOf(world.warnings, id), [
      notUsable(reason, 200, name.startsWith("xml") ? "NOT_XML" : "NOT_JSON")
    ])
  })

  it("logs which field is missing if the carrier's JSON has changed", async () => {
    await using world = await practise(at)
    world.carrier.turn("changed")
    const id = await world.start()
    assert.deepStrictEqual(await world.ended(id), ["no_answer", "unreadable_answer"])
    const rules = { "json-polls.ts": "quote_number", "callbacks.ts": "application_number" }[name]
    const { reason, broken_rules } = saidOf(world.warnings, id)[0] ?? assert.fail("No warning was logged.")
    // A body that is not XML has no fields.
    if (rules === undefined) return assert.strictEqual(reason, "unreadable_answer")
    assert.match(String(broken_rules), new RegExp(`^${rules}: `))
    const { entries } = await world.quotewire.timeline(id)
    const recorded = entries.flatMap((entry) => (entry.what === "exchange" ? entry.details.broken_rules : []))
    assert.strictEqual(recorded[0]?.path, rules)
  })

  it("continues with a new token if its token expires early", async () => {
    await using world = await practise(at)
    world.carrier.turn("token_ends")
    for (const _ of [1, 2]) assert.deepStrictEqual(await world.ended(await world.start()), ["quoted", premium])
    assert.isAtLeast(world.carrier.log.filter((line) => line.endsWith(" 401")).length, 1)
    assert.deepStrictEqual(world.warnings, [])
  })

  it("waits for slow answers", async () => {
    await using world = await practise(at)
    world.carrier.turn("slow")
    const id = await world.start()
    assert.deepStrictEqual(await world.ended(id), ["quoted", premium])
    assert.deepStrictEqual(await world.told(id), ["asked", ...told(1, [])])
  })

  it("uses a repeated answer only once, and never for another person", async () => {
    await using world = await practise(at)
    world.carrier.turn("twice")
    assert.deepStrictEqual(await world.ended(await world.start()), ["quoted", premium])
    const second = await world.start(refused.facts)
    assert.deepStrictEqual(await world.ended(second), ["declined", refused.reason])
    assert.deepStrictEqual(world.warnings, [])
  })

  it("keeps secrets, tokens and contacts out of records and logs", async () => {
    await using world = await practise(at)
    world.carrier.turn("burst")
    const id = await world.start({ applicant: { email: "ada@example.com" } })
    assert.deepStrictEqual(await world.ended(id), ["quoted", premium])
    const kept = JSON.stringify([await world.quotewire.timeline(id, { bodies: true }), world.warnings])
    for (const secret of ["a secret of Acme's", "token-1", "ada@example.com", "Basic "]) assert.notInclude(kept, secret)
  })
})

describe("a carrier's answer after ten minutes", () => {
  it("is too late for a carrier that is polled", async () => {
    await using world = await practise(jsonPolls)
    world.carrier.turn("late")
    const id = await world.start()
    assert.deepStrictEqual(await world.ended(id), ["no_answer", "timeout"])
    const words = await world.told(id)
    assert.deepStrictEqual(
      [words[1], words[2], words.at(-1)],
      [
        "ask 1 pending: POST /json/quotes 201, POST /json/quotes/Q-1/rate 200",
        "poll 1 pending: GET /json/quotes/Q-1 200",
        "no_answer timeout"
      ]
    )
  })

  it("is too late for a carrier that answers directly", async () => {
    await using world = await practise(xml)
    world.carrier.turn("late")
    const id = await world.start()
    assert.deepStrictEqual(await world.ended(id), ["no_answer", "timeout"])
    assert.deepStrictEqual(await world.told(id), [
      "asked",
      "ask 1 unavailable timeout: POST /xml aborted",
      "ask 2 unavailable timeout: POST /xml aborted",
      "no_answer timeout"
    ])
    assert.lengthOf(saidOf(world.warnings, id), 2)
  })

  it("is recorded if it arrives as a callback, but does not change the result", async () => {
    await using world = await practise(callbacksAt)
    world.carrier.turn("late")
    const id = await world.start()
    assert.deepStrictEqual(await world.ended(id), ["no_answer", "timeout"])
    await world.time.until(() => world.carrier.log.includes("callback 204"))
    assert.deepStrictEqual(await world.resultOf(id), ["no_answer", "timeout"])
    assert.deepStrictEqual(await world.told(id), [
      "asked",
      "ask 1 pending: POST /applications 202",
      "no_answer timeout",
      "callback 1 offers: received"
    ])
  })
})

describe("a host that takes over a half-finished quote", () => {
  for (const { idempotent, result, opened, ask } of [
    { idempotent: false, result: ["no_answer", "timeout"], opened: 1, ask: ["ask 1 unavailable carrier_error: "] },
    {
      idempotent: true,
      result: ["quoted", 18_000],
      opened: 2,
      ask: ["ask 1 unavailable carrier_error: ", ...jsonExample.told(2, []).slice(0, 2)]
    }
  ]) {
    const title = idempotent
      ? "reports the failed attempt, and asks again with the same idempotency key"
      : "reports the failed attempt, and does not ask a non-idempotent carrier again"
    it(title, async () => {
      await using world = await practise(jsonPolls, { terms: { idempotent } })
      world.carrier.turn("slow")
      const id = await world.start()
      await world.time.until(() => world.carrier.log.includes("POST /json/quotes 201"))
      world.kill()
      world.carrier.turn("fair")
      const { quotewire } = await world.serve()
      const { ended, told } = memberOf(quotewire, world.key, world.time)
      assert.deepStrictEqual(await ended(id), result)
      const openedOnes = world.carrier.log.filter((line) => line === "POST /json/quotes 201")
      assert.lengthOf(openedOnes, opened)
      assert.notInclude(world.carrier.log.join(), "Q-2")
      assert.deepStrictEqual(await told(id), ["asked", ...ask, result.join(" ").replace(" 18000", "")])
    })
  }
})

describe("an example adapter that uses fetch", () => {
  it.each([
    ["huge", ["no_answer", "unreadable_answer"]],
    ["bomb", ["no_answer", "unreadable_answer"]],
    ["redirect", ["no_answer", "carrier_error"]],
    ["twice", ["quoted", 18_000]]
  ] as const)("returns the expected result in the practice carrier's %s mode", async (weather, result) => {
    await using world = await practise(jsonPolls, { transport: "fetch" })
    world.carrier.turn(weather)
    assert.deepStrictEqual(await world.ended(await world.start()), [...result])
    assert.notInclude(world.carrier.log.join(), "/private")
  })
})

describe("the practice carrier", () => {
  it("changes its mode over HTTP, and lists the modes", async () => {
    const carrier = await startCarrier({ callback_secret: callbackSecret })
    try {
      const turn = (weather: string) => fetch(`${carrier.url}/weather/${weather}`, { method: "PUT" })
      assert.deepStrictEqual(await (await turn("maintenance")).json(), { weather: "maintenance" })
      const unknown = await turn("sunny")
      assert.deepStrictEqual([unknown.status, await unknown.json()], [404, { weathers }])
      assert.strictEqual((await fetch(`${carrier.url}/xml`, { method: "POST" })).status, 401)
    } finally {
      await carrier.close()
    }
  })

  it("lets examples/carriers/try.ts print prices and exchanges", async () => {
    const lines: Array<string> = []
    const log = vi.spyOn(console, "log").mockImplementation((...parts) => void lines.push(parts.join(" ")))
    try {
      await import("../examples/carriers/try.ts")
    } finally {
      log.mockRestore()
    }
    assert.deepStrictEqual(
      lines.slice(0, 8),
      ["sandbox", "live"].flatMap((environment) => [
        `${environment}: Angle Bracket Insurance 19000`,
        `${environment}: Foolscap Mutual 118110`,
        `${environment}: Ringback General 17500`,
        `${environment}: Stepwise Mutual 18000`
      ])
    )
    for (const exchange of [
      "poll naic:10001 offers",
      "ask naic:10002 offers",
      "callback naic:10003 offers",
      "poll naic:10004 offers"
    ]) {
      assert.isTrue(
        lines.some((line) => line.includes(exchange)),
        exchange
      )
    }
  })
})
