import { operations } from "@quotewire/core"
import { ExampleApplications, World } from "@quotewire/core/testing"
import { Effect } from "effect"
import { Agents, type Sent } from "./agents.ts"

/** Moves the clock of the sandbox. */
export const advanced = Effect.fnUntraced(function* (seconds: number) {
  const advance = operations.find(
    (one): one is Extract<(typeof operations)[number], { name: "advance_time" }> => one.name === "advance_time"
  )
  if (advance === undefined) return yield* Effect.die("advance_time is no operation")
  yield* Effect.orDie((yield* World.World).call(advance, { seconds }))
})

/** Calls a tool with a server key. */
export const call = (name: string, args: object, as: Sent["as"] = "server") =>
  Effect.flatMap(Agents, (agents) => agents.call(name, args, as))

/** Calls a tool without a key. */
export const callKeyless = (name: string, args: object) => Effect.flatMap(Agents, (agents) => agents.call(name, args))

/** A start of car insurance with a server key. */
export const startOf = (scenario: string) => ({
  line: "personal_auto",
  request_key: `start-${scenario}`,
  consent_receipt_id: "receipt-0001",
  credit_disclosure_receipt_id: "receipt-0002",
  scenario,
  application: ExampleApplications.smallest.personal_auto
})

/**
 * Follows a request as the tools advise: reads the changes since the last read, until the request is final or a
 * person must act.
 *
 * Returns the results of the reads that found a change, as a waiting call would.
 */
export const followed = Effect.fnUntraced(function* (id: string, version: number) {
  const reads: Array<Effect.Success<ReturnType<typeof call>>> = []
  let since_version = version
  for (let seconds = 0; seconds < 120; seconds++) {
    yield* advanced(1)
    const read = yield* call("get_quote_request", { id, since_version, only_changes: true, wait_seconds: 0 })
    const { quote_request } = read.structuredContent
    if (quote_request.version === since_version) continue
    reads.push(read)
    since_version = quote_request.version
    if (quote_request.status !== "in_progress") break
  }
  return reads
})

/** What a model has to read, in tokens of four characters. */
export interface Tokens {
  /** The lists of tools, by caller. */
  readonly lists: { readonly server: number; readonly platform: number; readonly keyless: number }
  /** The results of a journey from the capabilities of car insurance to one quote, in order. */
  readonly journey: ReadonlyArray<{ readonly tool: string; readonly structured: number; readonly content: number }>
}

const tokensOf = (text: string): number => Math.ceil(text.length / 4)

/** Measures what a model has to read. */
export const measured = Effect.gen(function* () {
  const { send } = yield* Agents
  const listOf = (as?: Sent["as"]) =>
    Effect.map(
      send({ ...(as !== undefined && { as }), message: { jsonrpc: "2.0", id: 1, method: "tools/list" } }),
      ({ body }) => tokensOf(JSON.stringify(body.result.tools))
    )
  const lists = { server: yield* listOf("server"), platform: yield* listOf("platform"), keyless: yield* listOf() }
  const results: Array<{ readonly tool: string; readonly result: Effect.Success<ReturnType<typeof call>> }> = []
  const add = (tool: string, args: object) =>
    Effect.map(call(tool, args), (result) => {
      results.push({ tool, result })
      return result.structuredContent
    })
  yield* add("get_capabilities", { line: "personal_auto", state: "TX" })
  const start = startOf("quotes_ready")
  yield* add("start_quote_request", { ...start, application: { ...start.application, vehicles: [{}] } })
  const { id, version } = yield* add("start_quote_request", start)
  for (const result of yield* followed(id, version)) results.push({ tool: "get_quote_request", result })
  const { quote_ids } = results.at(-1)?.result.structuredContent.quote_request ?? { quote_ids: [] }
  yield* add("get_quote", { id: quote_ids[0] })
  const journey = results.map(({ result, tool }) => ({
    tool,
    structured: tokensOf(JSON.stringify(result.structuredContent)),
    content: tokensOf(result.content.map(({ text }: { text: string }) => text).join(""))
  }))
  return { lists, journey } satisfies Tokens
})
