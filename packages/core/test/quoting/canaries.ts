import { Schema } from "effect"
import { CarrierRefresh, CarrierReply } from "../../src/carriers/Carrier.ts"

/*
 * Every kind of answer from a carrier, made from the schemas of answers, with a unique word in each text. A new field of an answer
 * gets its word automatically.
 */

/** Values of fields that accept only some values. */
const fitting: Readonly<Record<string, unknown>> = {
  amount_minor: 12_000,
  term_months: 12,
  expires_at: "2027-01-01T00:00:00.000Z",
  subject_id: "dwelling-1",
  poll_after_ms: 4_000,
  callback_after_ms: 4_000,
  refresh_after_ms: 3_600_000
}

/** The text around a word, for fields that accept only some values. */
const around: Readonly<Record<string, (word: string) => string>> = {
  handoff_url: (word) => `https://carrier.example/offers/${word}?mail=${word}@example.com`
}

interface Node {
  readonly [keyword: string]: unknown
}
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)
const nodesIn = (value: unknown): ReadonlyArray<Node> => (Array.isArray(value) ? value.filter(isNode) : [])

/** The words of an answer, and the answer. */
export interface Planted<A> {
  readonly answer: A
  readonly words: ReadonlyArray<string>
}

/** Every kind of answer that a schema describes, with all fields, each list with one item, and a word in each text. */
const planted = <A>(name: string, schema: Schema.Codec<A>): ReadonlyArray<Planted<A>> => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)
  const decode = Schema.decodeUnknownSync(schema)
  const answers = nodesIn(isNode(root) ? root.anyOf : [])
  return answers.map((answer) => {
    const words: Array<string> = []
    const fill = (node: Node, path: ReadonlyArray<string>): unknown => {
      const last = path.at(-1) ?? ""
      const [found] = nodesIn(node.anyOf).filter(({ type }) => type !== "null")
      if (typeof node.$ref === "string") {
        const target = definitions[node.$ref.replace("#/$defs/", "")]
        if (!isNode(target)) throw new Error(`${node.$ref} is not defined`)
        return fill(target, path)
      }
      if (Array.isArray(node.enum)) return node.enum[0]
      if (Object.hasOwn(fitting, last)) return fitting[last]
      if (found !== undefined) return fill(found, path)
      if (node.type === "array") return isNode(node.items) ? [fill(node.items, path)] : []
      if (node.type === "object") {
        const fields = Object.entries(isNode(node.properties) ? node.properties : {})
        const own = [node, ...nodesIn(node.allOf)].flatMap(({ additionalProperties: other }) =>
          isNode(other) ? [["note", other] as const] : []
        )
        return Object.fromEntries(
          [...fields, ...own].map(([field, inner]) => [field, isNode(inner) ? fill(inner, [...path, field]) : null])
        )
      }
      if (node.type !== "string") return node.type === "boolean" ? true : 1
      const word = `canary_${[name, ...path].join("_")}`
      words.push(word)
      return (around[last] ?? ((text: string) => text))(word)
    }
    return { answer: decode(fill(answer, [])), words }
  })
}

/** Every kind of reply to an ask. */
export const replies = planted("reply", CarrierReply)

/** Every kind of answer to a refresh. */
export const refreshes = planted("refresh", CarrierRefresh)

/** Matches every planted word. */
export const canary = /canary_\w+/g
