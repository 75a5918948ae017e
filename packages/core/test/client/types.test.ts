import { describe, expectTypeOf, it } from "@effect/vitest"
import type { bicycle } from "../../../../examples/line.ts"
import {
  type AnswerOf,
  type AnyLine,
  type Client,
  defineConfig,
  type InputOf,
  isApiError,
  type LineName
} from "../../src/index.ts"

/*
 * What compiles, and what does not. The compiler checks these tests (`npm run check`); nothing in them is called.
 */

const standard = (check: (client: Client) => unknown) => expectTypeOf(check).toBeFunction()
const consent_receipt_id = "receipt-0001"
const keys = { request_key: "first", consent_receipt_id } as const

describe("the types of a start", () => {
  it("take the facts of the line, of which any may still be missing", () => {
    standard((client) => {
      const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
      client.start_quote_request({ line: "renters", ...keys, application })
      client.start_quote_request({ line: "renters", ...keys, application: { dwelling: { type: "condo" } } })
      client.start_quote_request({ line: "pet", ...keys, application: { pets: [{ species: "dog" }] } })
      client.start_quote_request({ line: "personal_auto", ...keys, application: {} })
    })
  })

  it("refuse a misspelled fact, a wrong value, and a fact of another line", () => {
    standard((client) => {
      // @ts-expect-error: dwelling
      client.start_quote_request({ line: "renters", ...keys, application: { dwellling: { type: "condo" } } })
      // @ts-expect-error: breed
      client.start_quote_request({ line: "pet", ...keys, application: { pets: [{ breeed: "mixed" }] } })
      // @ts-expect-error: not a kind of home
      client.start_quote_request({ line: "renters", ...keys, application: { dwelling: { type: "castle" } } })
      // @ts-expect-error: a fact of another line
      client.start_quote_request({ line: "renters", ...keys, application: { pets: [] } })
      // @ts-expect-error: not a line
      client.start_quote_request({ line: "rentals", ...keys, application: {} })
      // @ts-expect-error: request_key is required
      client.start_quote_request({ line: "renters", consent_receipt_id, application: {} })
    })
  })

  it("take undefined for whatever may be absent", () => {
    standard((client) =>
      client.start_quote_request({
        line: "renters",
        ...keys,
        scenario: undefined,
        application: { coverage: undefined, dwelling: { year_built: undefined } }
      })
    )
  })

  it("know the lines of the program", () => {
    expectTypeOf((client: Client<typeof bicycle>) => {
      client.start_quote_request({ line: "bicycle", ...keys, application: { bicycle: { value_usd: 1_200 } } })
      // @ts-expect-error: electric
      client.start_quote_request({ line: "bicycle", ...keys, application: { bicycle: { electrical: true } } })
      // @ts-expect-error: this program does not offer it
      client.start_quote_request({ line: "renters", ...keys, application: {} })
    }).toBeFunction()
    expectTypeOf<InputOf<"start_quote_request", typeof bicycle>["line"]>().toEqualTypeOf<"bicycle">()
  })

  it("take any line and any facts if the program does not know its lines", () => {
    expectTypeOf((client: Client<AnyLine>, line: string, application: object) =>
      client.start_quote_request({ line, ...keys, application })
    ).toBeFunction()
  })

  it("print as plain objects", () => {
    type Renters = Extract<InputOf<"start_quote_request">, { readonly line: "renters" }>
    type Dwelling = NonNullable<Renters["application"]["dwelling"]>
    expectTypeOf<Dwelling["type"]>().toEqualTypeOf<
      "apartment" | "condo" | "townhouse" | "duplex" | "single_family" | "mobile_home" | "other" | undefined
    >()
    expectTypeOf<Pick<Renters, "line" | "request_key" | "scenario">>().toEqualTypeOf<{
      readonly line: "renters"
      readonly request_key: string
      readonly scenario?: string | undefined
    }>()
  })
})

describe("the options of a call", () => {
  it("need an idempotency key where the call does", () => {
    standard((client) => {
      client.advance_time({ seconds: 60 }, { idempotency_key: "a-minute" })
      client.get_sandbox({})
      // @ts-expect-error: no options
      client.advance_time({ seconds: 60 })
      // @ts-expect-error: no key
      client.advance_time({ seconds: 60 }, {})
    })
  })

  it("need no branded ids", () => {
    expectTypeOf<InputOf<"get_quote">["id"]>().toEqualTypeOf<string>()
    standard((client) =>
      client.send_feedback({ kind: "bug", summary: "", expected: "", actual: "", tried: { request_ids: ["req_1"] } })
    )
  })
})

type Event = AnswerOf<"list_events">["events"][number]

describe("the types of an event", () => {
  it("print as plain objects", () => {
    expectTypeOf<Pick<Event, "id" | "line">>().toEqualTypeOf<{ readonly id: string; readonly line: LineName }>()
  })

  it("are told apart by its type, with room for new ones", () => {
    expectTypeOf((event: Event) => {
      switch (event.type) {
        case "quote.created":
          return expectTypeOf(event.resource.type).toEqualTypeOf<"quote">()
        case "quote_request.completed":
          return expectTypeOf(event.resource.type).toEqualTypeOf<"quote_request">()
        // @ts-expect-error: no type of event
        case "quote.lost":
          return
        default:
          return expectTypeOf(event.id).toBeString()
      }
    }).toBeFunction()
  })
})

describe("isApiError", () => {
  it("gives an unknown error the fields of a refusal", () => {
    expectTypeOf((error: unknown) => {
      if (isApiError(error, "needs_information")) {
        expectTypeOf(error.code).toEqualTypeOf<"needs_information">()
        for (const { path, allowed_values } of error.field_errors ?? []) {
          expectTypeOf(path).toBeString()
          expectTypeOf(allowed_values).toEqualTypeOf<ReadonlyArray<string> | undefined>()
        }
      }
      // @ts-expect-error: no code of a refusal
      if (isApiError(error, "needs_informations")) return
      if (!isApiError(error)) return
      if (error.code === "rate_limited") expectTypeOf(error.retry_after_seconds).toEqualTypeOf<number | null>()
      // @ts-expect-error: no code of a refusal
      if (error.code === "rate_limit") return
    }).toBeFunction()
  })
})

describe("a configuration", () => {
  it("refuses misspelled options, and remembers its lines", () => {
    expectTypeOf(() => {
      // @ts-expect-error: carriers
      defineConfig({ carrierz: [] })
    }).toBeFunction()
    expectTypeOf((line: typeof bicycle) => defineConfig({ lines: [line] }).lines?.[0]?.name).returns.toEqualTypeOf<
      "bicycle" | undefined
    >()
  })
})
