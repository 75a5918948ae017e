import { Ajv2020 } from "ajv/dist/2020.js"
import ajvFormats from "ajv-formats"

const ajv = new Ajv2020({ strict: false })
ajvFormats.default(ajv)

/** Compiles a JSON Schema into a validator that also checks formats. */
export const compile = (schema: object) => ajv.compile(schema)

/**
 * The schema that a careful developer would write for exactly this value. Fastify stringifies fastest with such a
 * schema.
 */
export const of = (value: unknown): object => {
  if (value === null) return { type: "null" }
  if (Array.isArray(value)) return { type: "array", items: ofAll(value) }
  if (typeof value === "object") {
    const properties = Object.entries(value).map(([name, member]) => [name, of(member)])
    return { type: "object", properties: Object.fromEntries(properties) }
  }
  if (typeof value === "number") return { type: Number.isInteger(value) ? "integer" : "number" }
  return { type: typeof value }
}

/** One schema for all items of a list: an object with the members of all items. */
const ofAll = (items: ReadonlyArray<unknown>): object => {
  const objects = items.filter((item) => typeof item === "object" && item !== null)
  return of(objects.length > 0 ? Object.assign({}, ...objects) : (items[0] ?? ""))
}
