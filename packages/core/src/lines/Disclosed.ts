import { Predicate } from "effect"
import { schemaOf } from "./Application.ts"
import type { Assumed } from "./Assume.ts"
import type { JsonSchema } from "./JsonSchemaCheck.ts"
import type { Line } from "./Line.ts"

/**
 * The facts that a carrier may see: those that a price is made from, and those that its adapter declared (`needs`).
 *
 * A carrier never learns who the person is unless it has said that it needs to: names, street, e-mail and phone stay here.
 */
export const disclosed = (assumed: Assumed, needs: ReadonlyArray<string>): Assumed["facts"] => {
  const withheld = identifying[assumed.line].filter((path) => !needs.includes(path))
  const facts = structuredClone(assumed.facts)
  for (const path of withheld) remove(facts, path.split("."))
  return facts
}

/** The optional facts that identify a person, by path with `*` for every item of a list. */
const identifyingOf = (schema: JsonSchema, path: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (schema.items !== undefined) return identifyingOf(schema.items, [...path, "*"])
  if (schema.properties !== undefined) {
    return Object.entries(schema.properties).flatMap(([name, member]) =>
      member === undefined ? [] : identifyingOf(member, [...path, name])
    )
  }
  return schema["x-pii"] === "direct" && schema["x-tier"] === "offer" ? [path.join(".")] : []
}

const identifyingOfLine = (line: Line) => identifyingOf(schemaOf(line), [])
const identifying: { readonly [L in Line]: ReadonlyArray<string> } = {
  personal_auto: identifyingOfLine("personal_auto"),
  renters: identifyingOfLine("renters"),
  pet: identifyingOfLine("pet")
}

const remove = (value: unknown, [name, ...rest]: ReadonlyArray<string>): void => {
  if (name === undefined || !Predicate.isObjectOrArray(value)) return
  if (name === "*" && Array.isArray(value)) for (const item of value) remove(item, rest)
  else if (rest.length === 0) Reflect.deleteProperty(value, name)
  else remove(Reflect.get(value, name), rest)
}
