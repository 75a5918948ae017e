import type { OpenApi } from "@quotewire/http"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Predicate } from "effect"

/** A response as a test has read it. */
export interface Answered {
  readonly method: string
  /** The path that was called, without the query. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The problems of a response; empty if the document allows it. */
export type Conforms = (answered: Answered) => ReadonlyArray<string>

/**
 * Checks responses against an OpenAPI document: path, method, status, headers, content type and body.
 *
 * Objects are closed for the check: a reader ignores fields that it does not know, but the service must not send any.
 */
export const make = (document: OpenApi.Document): Conforms => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(closed(document), "openapi")
  const paths = Object.keys(at(document, "paths"))

  return ({ method, path, status, headers, text }) => {
    const template = paths.find((one) => matches(one, path))
    if (template === undefined) return [`${path} is not in the document`]
    const pointer = ["paths", template, method.toLowerCase(), "responses", String(status)]
    const found = resolve(document, pointer)
    if (found === null) return [`${method} ${template} does not document the status ${status}`]
    const problems = Object.keys(at(found.value, "headers"))
      .filter((name) => isRequired(document, found.pointer, name) && !headers.has(name))
      .map((name) => `${name} is missing`)
    const type = headers.get("content-type")
    if (type !== "application/json") return [...problems, `the content type is ${type}`]
    const validate = ajv.getSchema(`openapi#${toPointer([...found.pointer, "content", "application/json", "schema"])}`)
    if (validate === undefined) return [...problems, `${method} ${template} ${status} has no schema`]
    if (validate(JSON.parse(text)) === true) return problems
    return [
      ...problems,
      ...(validate.errors ?? []).map(
        (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`
      )
    ]
  }
}

const matches = (template: string, path: string): boolean => {
  const names = template.split("/")
  const parts = path.split("/")
  return names.length === parts.length && names.every((name, index) => name.startsWith("{") || name === parts[index])
}

const isRequired = (document: OpenApi.Document, pointer: ReadonlyArray<string>, name: string): boolean =>
  resolve(document, [...pointer, "headers", name])?.value.required === true

type Node = Readonly<Record<string, unknown>>

const at = (node: Node, name: string): Node => {
  const value = node[name]
  return Predicate.isObject(value) ? value : {}
}

/** Resolves a pointer, and the reference that it may lead to. */
const resolve = (
  document: Node,
  pointer: ReadonlyArray<string>
): { pointer: ReadonlyArray<string>; value: Node } | null => {
  const value = pointer.reduce(at, document)
  if (Object.keys(value).length === 0) return null
  const reference = value.$ref
  return typeof reference === "string" ? resolve(document, reference.slice(2).split("/")) : { pointer, value }
}

const toPointer = (names: ReadonlyArray<string>): string =>
  names.map((name) => `/${encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("")

const closed = <A>(value: A): A => {
  const close = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(close)
    if (!Predicate.isObject(node)) return node
    const copy = Object.fromEntries(Object.entries(node).map(([key, member]) => [key, close(member)]))
    const isOpen = copy.type === "object" && Predicate.isObject(copy.properties) && !("additionalProperties" in copy)
    return isOpen && !("allOf" in copy) ? { ...copy, additionalProperties: false } : copy
  }
  return JSON.parse(JSON.stringify(close(value)))
}
