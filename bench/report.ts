import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, totalmem } from "node:os"
import type { Flags } from "./flags.ts"
import type { Row } from "./http/suite.ts"
import type { Lived } from "./inProcess/life.ts"
import type { AtLevel } from "./inProcess/stored.ts"

/** A table: its title, what its columns are called, and its rows as they are printed. */
export interface Table {
  readonly name: string
  readonly title: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  /** The numbers behind the rows. */
  readonly numbers: unknown
}

const whole = (number: number): string => Math.round(number).toLocaleString("en-US")
const exact = (number: number, digits: number): string => number.toFixed(digits)
const kilobytes = (bytes: number): string => `${exact(bytes / 1e3, 1)} kB`

/** Servers side by side. */
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
    row.name,
    whole(row.per_second),
    exact(row.throughput_ratio, 2),
    `${exact(row.cpu_us, 1)} µs`,
    exact(row.cpu_ratio, 2),
    `${exact(row.p50_ms, 1)} ms`,
    `${exact(row.p99_ms, 1)} ms`,
    `${row.answer_bytes} bytes`
  ]),
  numbers: rows
})

/** What a step costs with more and more stored: beside each cost its ratio to the first level's. */
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
    numbers: levels
  }
}

/** What whole lives cost, and what they leave behind. */
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
  numbers: levels
})

const markdown = ({ title, columns, rows }: Table): string => {
  const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
  return [`### ${title}`, "", line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n")
}

/** Prints a table for a person. */
export const print = (table: Table): void => console.log(`\n${markdown(table)}`)

const results = new URL("results/latest.json", import.meta.url)
const readme = new URL("README.md", import.meta.url)
const begin = "<!-- results -->"
const end = "<!-- end of results -->"

/** Writes everything to `results/latest.json`, and the tables into the README. */
export const write = (tables: ReadonlyArray<Table>, flags: Flags): void => {
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memory_gb: Math.round(totalmem() / 1e9),
    node: process.version
  }
  const measured_at = new Date().toISOString()
  const numbers = Object.fromEntries(tables.map((table) => [table.name, table.numbers]))
  mkdirSync(new URL(".", results), { recursive: true })
  writeFileSync(results, `${JSON.stringify({ measured_at, machine, flags, ...numbers }, null, 2)}\n`)

  const heading = `Measured on ${measured_at.slice(0, 10)} with Node ${machine.node} on ${machine.cores} cores of ${machine.cpu}, ${flags.rounds} rounds of ${flags.seconds} s.`
  const text = readFileSync(readme, "utf8")
  const before = text.slice(0, text.indexOf(begin) + begin.length)
  const after = text.slice(text.indexOf(end))
  writeFileSync(readme, `${before}\n\n${[heading, ...tables.map(markdown)].join("\n\n")}\n\n${after}`)
}
