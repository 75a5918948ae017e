import { Carrier, Event, type Line } from "@quotewire/core"
import { type JsonSchema, Predicate } from "effect"
import * as Quote from "../packages/core/src/quoting/Quote.ts"
import * as QuoteRequest from "../packages/core/src/quoting/QuoteRequest.ts"

/*
 * Creates the reference pages about insurance lines: one page for each line, with its facts and codes, and one page
 * with the reasons and types that all lines share.
 */

type Schema = JsonSchema.JsonSchema

/** The page about a line: its facts, coverages, fees and billing cycles. */
export const linePage = (line: Line.Line): string =>
  page(
    `# ${line.name}`,
    `Insurance for ${line.insures}. The facts go into \`application\` of a [start](../api.md#start); the codes are those of its quotes.`,
    "## Facts",
    [
      'Required facts are in bold. If a fact is absent, the service uses the value in the column "assumed", and every quote says so.',
      "`price` facts change the price; carriers may want `offer` facts before they make an offer. `direct` facts identify a person,",
      "`indirect` ones do so together with others, `sensitive` ones are about a person's conduct."
    ].join("\n"),
    ...factTables(line.facts_schema),
    "## Example",
    "The smallest application that can be priced:",
    `\`\`\`json\n${JSON.stringify(line.example, null, 2)}\n\`\`\``,
    "## Coverages",
    codeTable(line.codes.coverage_codes, line),
    "## Subjects",
    "What each coverage insures:",
    codeTable(line.codes.subject_kinds, line),
    "## Fees",
    line.premium_includes_fees
      ? "The premium includes the fees."
      : "A quote does not say whether the premium includes the fees.",
    codeTable(line.codes.fee_codes, line),
    "## Billing cycles",
    codeTable(line.codes.billing_cycles, line)
  )

/** The page with the reasons and types that all lines share. */
export const codesPage = (): string =>
  page(
    "# Reasons and event types",
    "What the codes mean that all lines share. New ones can appear at any time; treat those you do not know like their status or outcome.",
    "## Quote requests",
    `\`status_details.reason\` of a ${rulesOf("quote request", "quote-request-statuses")}, with its \`message\`:`,
    table(["reason", "message"], rowsOf(QuoteRequest.reasons)),
    "## Quotes",
    `\`status_details.reason\` of a ${rulesOf("quote", "quote-statuses")}, with its \`message\`:`,
    table(["reason", "message"], rowsOf(Quote.reasons)),
    "## Carrier results",
    `\`reason\` of a ${rulesOf("carrier's result", "carrier-results")} that is \`declined\`:`,
    table(["reason", "meaning"], rowsOf(Carrier.declineMeanings)),
    "`no_answer`:",
    table(["reason", "meaning"], rowsOf(Carrier.noAnswerMeanings)),
    "`not_asked`:",
    table(["reason", "meaning"], rowsOf(Carrier.notAskedMeanings)),
    "## Events",
    table(["type", "sent when"], rowsOf(Event.meanings))
  )

/** A link to a section of the API contract. */
const rulesOf = (words: string, section: string): string => `[${words}](${contract}#${section})`

const contract = "./api.md"

const page = (...parts: ReadonlyArray<string>): string =>
  `${["<!-- Made by npm run docs:reference -->", ...parts].join("\n\n")}\n`

const rowsOf = (meanings: Readonly<Record<string, string>>) =>
  Object.entries(meanings).map(([code, meaning]) => [`\`${code}\``, meaning])

const codeTable = (codes: ReadonlyArray<string>, { meanings }: Line.Line): string =>
  table(
    ["code", "meaning"],
    codes.map((code) => [`\`${code}\``, meanings[code] ?? ""])
  )

/** Formats a table. Cells in a column have equal width, as the Markdown formatter writes them. */
const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")))
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => (row[column] ?? "").length)))
  const line = (row: ReadonlyArray<string>) =>
    `| ${widths.map((width, i) => (row[i] ?? "").padEnd(width)).join(" | ")} |`
  const [first = [], ...others] = cells
  return [line(first), line(widths.map((width) => "-".repeat(width))), ...others.map(line)].join("\n")
}

/** Creates a table for each object of facts. Outer objects come first. */
const factTables = (schema: Schema): ReadonlyArray<string> => objectsIn(schema, "").flatMap(factTable)

interface FactPlace {
  readonly path: string
  readonly schema: Schema
}

/**
 * Finds the objects in a schema that have facts of their own, and their paths. `[]` in a path stands for each item of a
 * list.
 */
const objectsIn = (schema: Schema, path: string): ReadonlyArray<FactPlace> => {
  const inner = membersOf(schema).flatMap(([name, member]) => {
    const at = path === "" ? name : `${path}.${name}`
    return isSchema(member.items) ? objectsIn(member.items, `${at}[]`) : objectsIn(member, at)
  })
  return membersOf(schema).length === 0 ? [] : [{ path, schema }, ...inner]
}

const factTable = ({ path, schema }: FactPlace): ReadonlyArray<string> => {
  const required = textsIn(schema.required)
  const groups = schemasIn(schema.anyOf).map((group) =>
    textsIn(group.required)
      .map((name) => `\`${name}\``)
      .join(" and ")
  )
  return [
    ...(path === "" ? [] : [`### ${path}`]),
    ...(groups.length === 0 ? [] : [`Send ${groups.join(", or ")}.`]),
    table(
      ["fact", "meaning", "values", "assumed", "for", "personal"],
      membersOf(schema).map(([name, fact]) => [
        required.includes(name) ? `**\`${name}\`**` : `\`${name}\``,
        meaningOf(fact),
        valuesOf(fact),
        assumedOf(fact["x-assume"]),
        textOf(fact["x-tier"]),
        textOf(fact["x-pii"])
      ])
    )
  ]
}

const meaningOf = ({ description, title }: Schema): string => [title, description].filter(Predicate.isString).join(". ")

/** The maximum number of values that a table cell lists. */
const mostValues = 12

const valuesOf = (fact: Schema): string => {
  if (isSchema(fact.items)) return `list of ${fact.minItems ?? 0} to ${fact.maxItems ?? "any number"}`
  if (Array.isArray(fact.enum)) {
    const [first, ...others] = fact.enum
    return fact.enum.length > mostValues
      ? `\`${first}\` and ${others.length} others`
      : fact.enum.map((value) => `\`${value}\``).join(", ")
  }
  if (fact.type === "integer") return `whole number, ${fact.minimum} to ${fact.maximum}`
  if (fact.type === "boolean") return "`true` or `false`"
  if (fact.type === "object") return "object, see below"
  const [example] = Array.isArray(fact.examples) ? fact.examples : []
  return `text${example === undefined ? "" : `, such as \`${example}\``}`
}

const assumedOf = (assumed: unknown): string => {
  if (Predicate.hasProperty(assumed, "value")) return `\`${JSON.stringify(assumed.value)}\``
  if (Predicate.hasProperty(assumed, "from")) return `as \`${assumed.from}\``
  return Predicate.hasProperty(assumed, "formula") ? `\`${assumed.formula}\`` : ""
}

const textOf = (value: unknown): string => (typeof value === "string" ? `\`${value}\`` : "")

const isSchema = (value: unknown): value is Schema => Predicate.isObject(value)

const schemasIn = (value: unknown): ReadonlyArray<Schema> => (Array.isArray(value) ? value.filter(isSchema) : [])

const textsIn = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter(Predicate.isString) : []

const membersOf = ({ properties }: Schema): ReadonlyArray<readonly [string, Schema]> =>
  isSchema(properties)
    ? Object.entries(properties).filter((entry): entry is [string, Schema] => isSchema(entry[1]))
    : []
