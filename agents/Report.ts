import * as Kept from "./Kept.ts"
import type { Tool } from "./model/Conversation.ts"
import * as Script from "./model/Script.ts"
import type { Run } from "./Run.ts"

/** A row of the table: the results of one client. */
export interface Row {
  readonly client: string
  /** The protocol version that the client and the host agreed on. */
  readonly version: string
  /** How many tools the model was offered. */
  readonly tools: number
  readonly facts: string
  readonly required: Kept.Kept["required"]
  readonly values: string
  readonly unions: string
  /** Whether the model reached a single quote. */
  readonly journey: "yes" | "no"
  /** The parts of a result that reach the model. */
  readonly reads: string
  /** How much the model reads, in tokens of four characters. */
  readonly tokens: { readonly tools: number; readonly capabilities: number; readonly quote: number }
}

/** Makes the table row of a run. `declared` is the input schema of `start_quote_request` as the host lists it. */
export const rowOf = ({ client, finished, heard, recorded }: Run, declared: unknown): Row => {
  const { conversation } = heard
  const tools = conversation === null ? new Map<string, Tool>() : Script.toolsOf(conversation)
  const results = conversation?.results ?? []
  const kept = Kept.compare(declared, tools.get("start_quote_request")?.parameters)
  return {
    client: client.title,
    version: [...recorded.versions].join(", "),
    tools: tools.size,
    facts: kept.facts.join(" of "),
    required: kept.required,
    values: kept.values.join(" of "),
    unions: kept.unions.join(" of "),
    journey: finished ? "yes" : "no",
    reads: readsOf(results.at(-1) ?? ""),
    tokens: {
      tools: tokensOf([...tools.values()].map(declaration).join("")),
      capabilities: tokensOf(results[0] ?? ""),
      quote: tokensOf(results.at(-1) ?? "")
    }
  }
}

const tokensOf = (text: string): number => Math.ceil(text.length / 4)

const declaration = ({ description, name, parameters }: Tool): string =>
  JSON.stringify({ name, description, parameters })

/** Which parts of a result reached the model. The first text is also in `structuredContent`, in its field `summary`. */
const readsOf = (result: string): string => {
  const first = result.search(/[A-Z][\w ]+ \(sandbox\): \$/)
  if (first < 0) return "nothing"
  if (/"summary":\s*"$/.test(result.slice(0, first))) return "structuredContent"
  return result.includes('"structuredContent"') ? "all" : "texts"
}

const columns = ["client", "MCP version", "tools", "facts", "required", "values", "unions", "journey", "reads"]
const numbers = ["tokens: tools", "capabilities", "a quote"]

/** The table as Markdown, with aligned columns. */
export const table = (rows: ReadonlyArray<Row>): string => {
  const cells = [
    [...columns, ...numbers],
    ...rows.map(({ client, facts, journey, reads, required, tokens, tools, unions, values, version }) =>
      [client, version, tools, facts, required, values, unions, journey, reads, ...Object.values(tokens)].map(String)
    )
  ]
  const widths = [...columns, ...numbers].map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  const isNumber = (at: number) => at >= columns.length || columns[at] === "tools"
  const line = (row: ReadonlyArray<string>) =>
    `| ${row.map((cell, at) => (isNumber(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))).join(" | ")} |`
  const [head = [], ...others] = cells.map(line)
  const rule = `| ${widths.map((width, at) => (isNumber(at) ? `${"-".repeat(width - 1)}:` : "-".repeat(width))).join(" | ")} |`
  return [head, rule, ...others].join("\n")
}

/** Replaces the ids and dates in a result with fixed ones, so that two runs give the same text. */
export const normalized = (text: string): string =>
  text
    .replaceAll(/\b(qreq|qt|app|crc|req)_\w+/g, "$1_…")
    .replaceAll(/\brh_[\w-]+/g, "rh_…")
    .replaceAll(/\/go\/[\w-]+/g, "/go/…")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-11-24T12:00:00.000Z")
    .replaceAll(/\d{4}-\d\d-\d\d(?!T)/g, "2026-11-24")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8787")
    .replaceAll(/Wall time: [\d.]+/g, "Wall time: 0.0500")
    .replaceAll(/<total_tokens>\d+/g, "<total_tokens>…")
    .replaceAll(/[0-9a-f]{64}/g, "…")
