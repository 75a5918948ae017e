import { assert, describe, it } from "@effect/vitest"
import { Allowance, ApiError, Carrier, Event, type OperationServices, operations, Retention } from "@quotewire/core"
import { Tools } from "@quotewire/mcp"
import { Effect, Predicate } from "effect"
import * as Quote from "../packages/core/src/quoting/Quote.ts"
import * as QuoteRequest from "../packages/core/src/quoting/QuoteRequest.ts"
import { finding, holds } from "./support/findings.ts"
import { fixedLimits } from "./support/fixedLimits.ts"
import { read, sources } from "./support/sources.ts"

/*
 * The contract page names everything that callers encounter, and comments cite only headings that it has. An addition
 * to the code fails here until it is on the page.
 */

const page = "docs/reference/api.md"
const { text } = read(page)

/** The sections of the page, by their headings. */
const sections = Array.from(
  text.matchAll(/^#{2,3} (.+)\n([\s\S]*?)(?=^#{2,3} |$(?![\s\S]))/gm),
  ([, heading, body]) => ({
    heading: heading ?? "",
    body: body ?? ""
  })
)
const headings = sections.map(({ heading }) => heading)

/** The rows of a section's tables, without heads, as cells. */
const rowsOf = (heading: string): ReadonlyArray<ReadonlyArray<string>> => {
  const { body } = sections.find((section) => section.heading === heading) ?? assert.fail(`No section ${heading}`)
  const lines = body.split("\n")
  return lines
    .filter((line, index) => line.startsWith("| ") && !line.startsWith("| -") && !lines[index + 1]?.startsWith("| -"))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim())
    )
}

const code = (name: string) => `\`${name}\``

describe("the API reference page", () => {
  const folders = ["agents", "bench", "e2e", "examples", "packages", "scripts", "test"]
  const cited = [...folders.flatMap((folder) => sources(folder, ".ts")), read("CONTRIBUTING.md")]
    .filter(({ path }) => path !== "test/apiReference.test.ts")
    .flatMap(({ path, text }) => {
      const unwrapped = text.replaceAll(/\n\s*(?:\*|\/\/) ?/g, " ")
      return Array.from(unwrapped.matchAll(/(?<!\/)\bapi\.md\b.{0,60}/g), ([match]) => ({ path, match }))
    })

  it("has a heading for every citation in the code", () => {
    const headed = new Set(headings)
    assert.isAbove(cited.length, 100)
    holds(
      cited.map(({ path, match }) => {
        const heading = /^api\.md, ([^)]+)\)/.exec(match)?.[1]
        return finding(path, heading !== undefined && headed.has(heading), `cites no heading of ${page}: ${match}`)
      })
    )
  })

  it("has unique headings, and no broken links to headings", () => {
    const anchors = headings.map((heading) => heading.toLowerCase().replaceAll(" ", "-"))
    assert.strictEqual(new Set(anchors).size, anchors.length)
    holds(headings.map((heading) => finding(heading, /^[\w -]+$/.test(heading), "is no plain heading")))
    holds(
      Array.from(text.matchAll(/\]\(#([^)]+)\)/g), ([, anchor = ""]) =>
        finding(page, anchors.includes(anchor), `links to #${anchor}`)
      )
    )
  })

  it("is linked from the main pages", () => {
    holds(
      ["README.md", "CONTRIBUTING.md", "docs/guides/README.md", "docs/reference/README.md"].map((path) =>
        finding(path, /\]\([^)]*api\.md\)/.test(read(path).text), `does not link to ${page}`)
      )
    )
  })
})

const tools = new Set(Tools.of<OperationServices>(operations).map(({ name }) => name))

const authorityOf = ({ authority, name }: (typeof operations)[number], kind: string): string => {
  const isAdmitted = authority.callers.some((caller) => caller === kind)
  // Without a key, only tools can be called.
  if (!isAdmitted || (kind === "keyless" && !tools.has(name))) return "no"
  if (authority.environment === "sandbox") return "sandbox"
  return authority.by_handle === true && kind !== "server" ? "handle" : "yes"
}

const limitOf = (units: number | null): string => units?.toLocaleString("en-US") ?? "–"

describe("the API reference", () => {
  it("lists every operation with its route, callers, cost and idempotency key", () => {
    assert.deepStrictEqual(
      rowsOf("Operations"),
      operations.map((operation) => [
        code(operation.name),
        code(`${operation.route.method} ${operation.route.path}`),
        String(operation.route.status),
        ...["server", "widget", "platform", "keyless"].map((kind) => authorityOf(operation, kind)),
        Object.entries(operation.cost)
          .map(([kind, units]) => `${kind} ${units}`)
          .join(", "),
        operation.idempotent ? "required" : "–"
      ])
    )
  })

  it("lists every tool", () => {
    assert.sameMembers(
      rowsOf("Tools").map(([tool]) => tool),
      Array.from(tools, code)
    )
  })

  it("lists every error code with its status and retry action", () => {
    assert.deepStrictEqual(
      rowsOf("Error codes").map((row) => row.slice(0, 3)),
      ApiError.codes.map((name) => {
        const { retry_action, status } = ApiError.definitions[name]
        return [code(name), String(status), code(retry_action)]
      })
    )
  })

  it("lists every event type", () => {
    assert.sameMembers(
      rowsOf("Event types").map(([type]) => type),
      Event.types.map(code)
    )
  })

  it("lists every rate limit", () => {
    const { failed_authentication, keyless, keys, operator, organization_factor, tests_and_replays } =
      Allowance.standardLimits
    const ofKinds = (who: string, limits: Allowance.Limits["keyless"]) =>
      Allowance.costKinds.map((kind) => [who, kind, limitOf(limits[kind].per_minute), limitOf(limits[kind].per_day)])
    const one = (who: string, what: string, { per_day, per_minute }: Allowance.Limit) => [
      who,
      what,
      limitOf(per_minute),
      limitOf(per_day)
    ]
    assert.deepStrictEqual(rowsOf("Rate limits"), [
      ...ofKinds("a live key", keys.live),
      ...ofKinds("a sandbox key", keys.sandbox),
      ...ofKinds("an address without a key", keyless),
      one("an address with wrong keys", "each refused key", failed_authentication),
      one("an operator's token", "each call", operator),
      one("an organization", "each test or replay", tests_and_replays)
    ])
    assert.strictEqual(organization_factor, 5)
    assert.include(text, "five times the limits of one key")
  })

  it("lists every fixed limit as the code declares it", () => {
    assert.deepStrictEqual(
      rowsOf("Fixed limits"),
      fixedLimits.map(({ limit, value }) => [limit, value])
    )
    holds(
      fixedLimits.map(({ declaration, limit, path }) =>
        finding(path, read(path).text.includes(declaration), `does not declare the limit "${limit}" as the page has it`)
      )
    )
  })

  it.effect("lists every retention period", () =>
    Effect.gen(function* () {
      const days = Object.values(yield* Retention.RetentionPeriods)
      assert.sameMembers(
        rowsOf("Retention periods").map(([, period]) => period),
        days.map((period) => period.toLocaleString("en-US"))
      )
    })
  )

  it("has a description for every property in the OpenAPI document", () => {
    const all = propertiesIn(JSON.parse(read("docs/reference/openapi.json").text), "")
    holds(
      all.map(([path, schema]) =>
        finding(
          "docs/reference/openapi.json",
          typeof schema.description === "string" || typeof schema.$ref === "string",
          `does not describe ${path}`
        )
      )
    )
  })

  it("mentions every field and value of the OpenAPI document, and every reason", () => {
    const spans = Array.from(text.matchAll(/`([^`\n]+)`/g), ([, span = ""]) => span)
    const named = new Set(spans.flatMap((span) => [span, ...span.split(/[^\w.-]+/), ...span.split(/\W+/)]))
    const { components } = JSON.parse(read("docs/reference/openapi.json").text)
    // The line's own schema describes its facts.
    const schemas = Object.entries(components.schemas).filter(([name]) => !/(?:Application|Start)$/.test(name))
    const names = [
      ...schemas.flatMap(([, schema]) => namesIn(schema)),
      ...operations.flatMap(({ route }) => Object.keys(route.query)),
      ...Object.keys(components.headers),
      ...Object.keys(components.parameters).filter((name) => !name.startsWith("quotewire-")),
      ...Object.keys(QuoteRequest.reasons),
      ...Object.keys(Quote.reasons),
      ...Carrier.declineReasons,
      ...Carrier.noAnswerReasons,
      ...Carrier.notAskedReasons
    ]
    assert.isAbove(schemas.length, 30)
    holds(Array.from(new Set(names), (name) => finding(page, named.has(name), `does not name ${name}`)))
  })
})

/** The names of fields and the listed values in a JSON Schema. */
const namesIn = (schema: unknown): ReadonlyArray<string> => {
  if (Array.isArray(schema)) return schema.flatMap(namesIn)
  if (!Predicate.isObject(schema)) return []
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === "properties" && Predicate.isObject(value)) return [...Object.keys(value), ...namesIn(value)]
    if (keyword === "enum" && Array.isArray(value)) return value.filter(Predicate.isString)
    return namesIn(value)
  })
}

/** Every property that a schema inside the node declares, with its path. Conditions and examples declare none. */
const propertiesIn = (node: unknown, path: string): ReadonlyArray<readonly [string, Record<string, unknown>]> => {
  if (Array.isArray(node)) return node.flatMap((item, index) => propertiesIn(item, `${path}/${index}`))
  if (!Predicate.isObject(node)) return []
  return Object.entries(node).flatMap(([keyword, value]) => {
    if (["if", "then", "example", "examples"].includes(keyword)) return []
    const declared = keyword === "properties" && Predicate.isObject(value) ? Object.entries(value) : []
    return [
      ...declared.map(([name, schema]) => [`${path}/${name}`, Object(schema)] as const),
      ...propertiesIn(value, `${path}/${keyword}`)
    ]
  })
}
