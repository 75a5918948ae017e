import { readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, totalmem } from "node:os"
import type { Result } from "./contest.ts"
import type { Flags } from "./flags.ts"
import type { Row } from "./http/suite.ts"
import type { Lived } from "./inProcess/life.ts"
import type { AtLevel } from "./inProcess/stored.ts"

/** A table of results: its title, its column headings, and its rows as they are printed. */
export interface Table {
  readonly name: string
  readonly title: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  /**
   * How many times and for how long the rows were measured; null if that follows from the rounds and seconds on the
   * command line.
   */
  readonly how: string | null
  /** The numbers behind the rows. */
  readonly numbers: unknown
}

const whole = (number: number): string => Math.round(number).toLocaleString("en-US")
const exact = (number: number, digits: number): string => number.toFixed(digits)
const kilobytes = (bytes: number): string => `${exact(bytes / 1e3, 1)} kB`

/**
 * The first cells of a rival's row: its name, its speed and its CPU cost. Speed and cost are each followed by the ratio
 * to the base.
 */
export const rivalCells = (row: Result): ReadonlyArray<string> => [
  row.name,
  whole(row.per_second),
  exact(row.throughput_ratio, 2),
  `${exact(row.cpu_us, 1)} µs`,
  exact(row.cpu_ratio, 2)
]

/** Creates a table with the results of several servers. */
export const ofPeers = (name: string, title: string, base: string, rows: ReadonlyArray<Row>): Table => ({
  name,
  title,
  columns: [
    "server",
    "requests/s",
    `throughput, ${base} = 1`,
    "CPU per request",
    `per CPU second, ${base} = 1`,
    "p50",
    "p99",
    "answer"
  ],
  rows: rows.map((row) => [
    ...rivalCells(row),
    `${exact(row.p50_ms, 1)} ms`,
    `${exact(row.p99_ms, 1)} ms`,
    `${row.answer_bytes} bytes`
  ]),
  how: null,
  numbers: rows
})

/**
 * Creates a table with the cost of steps while more and more requests are stored. Each cost is followed by its ratio to
 * the first level's.
 */
export const ofLevels = (levels: ReadonlyArray<AtLevel>): Table => {
  const first = levels[0]
  const cost = (level: AtLevel, pick: (level: AtLevel) => number): string =>
    `${exact(pick(level), 1)} µs (${exact(first === undefined ? 1 : pick(level) / pick(first), 2)})`
  return {
    name: "stored",
    title: "In process: what a step costs with so many requests stored (in brackets: the first row = 1)",
    columns: ["requests stored", "start", "starts/s", "quote read", "feed page of 100", "pages/s", "heap per request"],
    rows: levels.map((level) => [
      whole(level.requests),
      cost(level, ({ start_us }) => start_us),
      whole(1e6 / level.start_us),
      cost(level, ({ quote_us }) => quote_us),
      cost(level, ({ feed_page_us }) => feed_page_us),
      whole(1e6 / level.feed_page_us),
      kilobytes(level.heap_bytes_per_request)
    ]),
    how: "one run, medians within it",
    numbers: levels
  }
}

/** Creates a table with the cost of complete lives, and the memory that finished requests occupy. */
export const ofLives = (levels: ReadonlyArray<Lived>): Table => ({
  name: "lives",
  title: "In process: whole lives of a quote request, from its start to completed, 100 at a time (`quotes_ready`)",
  columns: [
    "requests finished",
    "quotes each",
    "life",
    "lives/s",
    "quote read",
    "heap per request",
    "heap per 100,000"
  ],
  rows: levels.map((level) => [
    whole(level.requests),
    whole(level.quotes_each),
    `${exact(level.life_us / 1e3, 2)} ms`,
    whole(1e6 / level.life_us),
    `${exact(level.quote_us, 1)} µs`,
    kilobytes(level.heap_bytes_per_request),
    `${exact((level.heap_bytes_per_request * 1e5) / 1e9, 2)} GB`
  ]),
  how: "one run",
  numbers: levels
})

const markdown = ({ title, columns, rows }: Table): string => {
  const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
  return [`### ${title}`, "", line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n")
}

/** Prints a table for people. */
export const print = (table: Table): void => console.log(`\n${markdown(table)}`)

/** The names of the bench's tables, in the order in which they are shown. */
const order = [
  "read",
  "start",
  "mcp",
  "mcp_token",
  "mcp_list",
  "hostile",
  "hostile_answers",
  "stored",
  "lives",
  "client",
  "deliveries",
  "carriers",
  "pg_changes",
  "pg_starts",
  "pg_starts_many",
  "pg_jobs",
  "pg_deliveries",
  "pg_reads",
  "pg_growth"
]

const results = new URL("results/latest.json", import.meta.url)
const readme = new URL("README.md", import.meta.url)
const begin = "<!-- results -->"
const end = "<!-- end of results -->"

/** A stored table: when, on which machine and how it was measured. */
interface StoredResults extends Table {
  readonly measured: string
}

/**
 * Stores tables in `results/latest.json`, replaces stored tables with the same names, and shows all tables in the
 * README.
 */
export const write = (tables: ReadonlyArray<Table>, flags: Flags): void => {
  const memoryGb = Math.round(totalmem() / 1e9)
  const machine = `${availableParallelism()} cores of ${cpus()[0]?.model ?? "unknown"} with ${memoryGb} GB, Node ${process.version}`
  const at = `${new Date().toISOString().slice(0, 16)}Z, ${machine}`
  const storedResults: ReadonlyArray<StoredResults> = JSON.parse(readFileSync(results, "utf8"))
  const fresh = tables.map(
    (table): StoredResults => ({
      ...table,
      measured: `${at}, ${table.how ?? `${flags.rounds} rounds of ${flags.seconds} s`}`
    })
  )
  const otherTables = storedResults.filter(({ name }) => !fresh.some((table) => table.name === name))
  const ordered = [...otherTables, ...fresh].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  writeFileSync(results, `${JSON.stringify(ordered, null, 2)}\n`)

  const text = readFileSync(readme, "utf8")
  const head = text.slice(0, text.indexOf(begin) + begin.length)
  const tail = text.slice(text.indexOf(end))
  const sections = ordered.map((table) => `${markdown(table)}\n\nMeasured ${table.measured}.`)
  writeFileSync(readme, `${head}\n\n${sections.join("\n\n")}\n\n${tail}`)
}
