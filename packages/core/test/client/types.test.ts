import { execFile } from "node:child_process"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import type { bicycle } from "../../../../examples/line.ts"
import * as refusedLines from "../../../../test/support/refusedLines.ts"
import { read, root } from "../../../../test/support/sources.ts"
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
 * What compiles. The compiler checks these tests (`npm run check`); nothing in them is called. What must not compile
 * is in `refused/`, which the last test compiles.
 */

const standard = (check: (client: Client) => unknown) => expectTypeOf(check).toBeFunction()
const consentReceiptId = "receipt-0001"
const keys = { request_key: "first", consent_receipt_id: consentReceiptId } as const

describe("the types of start_quote_request", () => {
  it("accept a line's facts even if some are missing", () => {
    standard((client) => {
      const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
      client.start_quote_request({ line: "renters", ...keys, application })
      client.start_quote_request({ line: "renters", ...keys, application: { dwelling: { type: "condo" } } })
      client.start_quote_request({ line: "pet", ...keys, application: { pets: [{ species: "dog" }] } })
      client.start_quote_request({ line: "personal_auto", ...keys, application: {} })
    })
  })

  it("accept a credit disclosure receipt for a line that needs one", () => {
    standard((client) =>
      client.start_quote_request({
        line: "personal_auto",
        ...keys,
        credit_disclosure_receipt_id: "receipt-0002",
        application: {}
      })
    )
  })

  it("accept an input of any line", () => {
    standard((client) => (input: InputOf<"start_quote_request">) => client.start_quote_request(input))
  })

  it("accept undefined for any optional field", () => {
    standard((client) =>
      client.start_quote_request({
        line: "renters",
        ...keys,
        scenario: undefined,
        application: { coverage: undefined, dwelling: { year_built: undefined } }
      })
    )
  })

  it("include the lines that the program declares", () => {
    expectTypeOf((client: Client<typeof bicycle>) => {
      client.start_quote_request({ line: "bicycle", ...keys, application: { bicycle: { value_usd: 1_200 } } })
    }).toBeFunction()
    expectTypeOf<InputOf<"start_quote_request", typeof bicycle>["line"]>().toEqualTypeOf<"bicycle">()
  })

  it("accept any line and any facts if the program does not declare its lines", () => {
    expectTypeOf((client: Client<AnyLine>, line: string, application: object) =>
      client.start_quote_request({ line, ...keys, application })
    ).toBeFunction()
  })

  it("are displayed as plain objects", () => {
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

describe("the types of call options", () => {
  it("require an idempotency key for calls that need a key", () => {
    standard((client) => {
      client.advance_time({ seconds: 60 }, { idempotency_key: "a-minute" })
      client.get_sandbox({})
    })
  })

  it("accept plain strings as ids", () => {
    expectTypeOf<InputOf<"get_quote">["id"]>().toEqualTypeOf<string>()
    standard((client) =>
      client.send_feedback({ kind: "bug", summary: "", expected: "", actual: "", tried: { request_ids: ["req_1"] } })
    )
  })
})

type Event = AnswerOf<"list_events">["events"][number]

describe("the types of an event", () => {
  it("are displayed as plain objects", () => {
    expectTypeOf<Pick<Event, "id" | "line">>().toEqualTypeOf<{ readonly id: string; readonly line: LineName }>()
  })

  it("are discriminated by type, and allow new types", () => {
    expectTypeOf((event: Event) => {
      switch (event.type) {
        case "quote.created":
          return expectTypeOf(event.resource.type).toEqualTypeOf<"quote">()
        case "quote_request.completed":
          return expectTypeOf(event.resource.type).toEqualTypeOf<"quote_request">()
        default:
          return expectTypeOf(event.id).toBeString()
      }
    }).toBeFunction()
  })
})

describe("isApiError", () => {
  it("narrows an unknown error's type to an API error with the given code", () => {
    expectTypeOf((error: unknown) => {
      if (isApiError(error, "needs_information")) {
        expectTypeOf(error.code).toEqualTypeOf<"needs_information">()
        for (const { path, allowed_values } of error.field_errors ?? []) {
          expectTypeOf(path).toBeString()
          expectTypeOf(allowed_values).toEqualTypeOf<ReadonlyArray<string> | undefined>()
        }
      }
      if (!isApiError(error)) return
      if (error.code === "rate_limited") expectTypeOf(error.retry_after_seconds).toEqualTypeOf<number | null>()
    }).toBeFunction()
  })
})

describe("a configuration", () => {
  it("includes its insurance lines' names in its type", () => {
    expectTypeOf((line: typeof bicycle) => defineConfig({ lines: [line] }).lines?.[0]?.name).returns.toEqualTypeOf<
      "bicycle" | undefined
    >()
  })
})

describe("the compiler", () => {
  it("rejects exactly the code lines that are marked as errors", async () => {
    const folder = "packages/core/test/client/refused"
    const printed = await new Promise<string>((resolve) => {
      execFile("node_modules/.bin/tsc", ["-p", folder, "--pretty", "false"], { cwd: root }, (_failed, stdout, stderr) =>
        resolve(`${stdout}${stderr}`)
      )
    })
    const names = [`${folder}/carriers.ts`, `${folder}/inputs.ts`]
    assert.deepStrictEqual(
      refusedLines.found(printed).toSorted(),
      names.flatMap((name) => refusedLines.expected(name, read(name).text)).toSorted(),
      printed
    )
    // An application of another line is refused because of the name of a fact, not because of a value.
    assert.match(printed, /inputs\.ts\S+ error TS\d+: Object literal .* 'dwelling' does not exist/)
  })
})
