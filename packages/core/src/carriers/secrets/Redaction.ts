import { identity, Option, Predicate, Result, Schema } from "effect"
import * as Json from "../../wire/Json.ts"
import * as Xml from "../../wire/Xml.ts"
import type { CarrierAdapter, ConnectionValues } from "../Carrier.ts"
import * as SecretForms from "./SecretForms.ts"
import { redacted } from "./SecretForms.ts"
import { maxLevels, parseJson, secretName } from "./SentSecrets.ts"
import type { LeftOut } from "./XmlRedaction.ts"
import * as XmlRedaction from "./XmlRedaction.ts"

/** How the bodies of one carrier are recorded. */
export interface Redaction {
  /** Paths of values in JSON and XML bodies that are not recorded, such as `applicant` or `drivers.*.name`. */
  readonly paths: ReadonlyArray<string>
  /** Whether bodies that are neither JSON, XML nor forms are recorded. */
  readonly keeps_text: boolean
  /** What is never recorded anywhere, in any form, such as an API key. */
  readonly secrets: SecretForms.SecretForms
}

/** What an adapter declares about its secrets and the bodies of its exchanges. */
export type Declared = Pick<CarrierAdapter, "connection" | "keeps_text_bodies" | "redact">

/**
 * The redaction of an adapter's exchanges. Secrets are all values of the connection that the adapter does not declare as a
 * `string`, and all credentials that were sent (`SentSecrets.ofAll`).
 */
export const redactionOf = (
  { connection = {}, keeps_text_bodies = false, redact: paths = [] }: Declared,
  values: ConnectionValues = {},
  sent: ReadonlyArray<string> = []
): Redaction => {
  const given = Object.entries(values).flatMap(([name, value]) => (connection[name] === "string" ? [] : [value]))
  return { paths, keeps_text: keeps_text_bodies, secrets: SecretForms.make([...given, ...sent]) }
}

/** One side of an HTTP exchange. */
export const RecordedMessage = Schema.Struct({
  /** Only harmless headers: never `authorization` or cookies. */
  headers: Schema.Record(Schema.String, Schema.String),
  content_type: Schema.NullOr(Schema.String),
  /** The length of the body before it was redacted and cut; null if unknown. */
  bytes: Schema.NullOr(Schema.Int),
  /** The redacted body; null if it is not kept. */
  body: Schema.NullOr(Schema.String),
  /** Whether the body is whole, cut to length, omitted, or missing (there was none, or the adapter did not read it). */
  kept: Schema.Literals(["whole", "cut", "left_out", "none"])
}).annotate({ identifier: "RecordedMessage" })
export type RecordedMessage = typeof RecordedMessage.Type

/** A message before it is redacted. */
export interface RawMessage {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly content_type: string | null
  /** Null if the body was not read. */
  readonly body: RawBody | null
}

/** A body before it is redacted. */
export interface RawBody {
  readonly bytes: number | null
  /** Null if it is too long or not text. */
  readonly text: string | null
}

/** Longer bodies are not inspected, because only a whole body can be redacted. */
export const maxReadCharacters = 256 * 1_024
/** Bodies are cut to this length after redaction. */
const maxKeptCharacters = 16 * 1_024

/** The headers that are recorded. */
const headersKept: ReadonlySet<string> = new Set([
  "content-type",
  "date",
  "retry-after",
  "request-id",
  "x-request-id",
  "correlation-id",
  "x-correlation-id"
])

/** The recorded form of a message. */
export const recorded = ({ body, content_type, headers }: RawMessage, redaction: Redaction): RecordedMessage => {
  const text = body?.text ?? null
  const kept = text === null || text === "" ? null : bodyOf(text, content_type, redaction)
  return {
    headers: headersOf(headers, redaction),
    content_type: content_type === null ? null : headerText(content_type, redaction),
    bytes: body?.bytes ?? null,
    body: kept === null ? null : kept.slice(0, maxKeptCharacters).toWellFormed(),
    kept: keptAs(body, kept)
  }
}

/** The headers that are recorded, cut to length. */
export const headersOf = (headers: RawMessage["headers"], redaction: Redaction): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value !== undefined && headersKept.has(name.toLowerCase())
        ? [[name.toLowerCase(), headerText(value, redaction)]]
        : []
    )
  )

const headerText = (value: string, { secrets }: Redaction): string =>
  secrets.without(value).slice(0, maxHeaderCharacters)

const maxHeaderCharacters = 200

const keptAs = (body: RawBody | null, kept: string | null): RecordedMessage["kept"] => {
  if (kept !== null) return kept.length > maxKeptCharacters ? "cut" : "whole"
  return body === null || body.bytes === 0 || body.text === "" ? "none" : "left_out"
}

/** The redacted body at its full length; null if it is not kept. */
export const bodyOf = (
  text: string,
  contentType: string | null,
  { keeps_text, paths, secrets }: Redaction
): string | null => {
  if (isForm(contentType)) return secrets.without(namesOnly(text))
  const write = writerOf(text, contentType)
  if (write === null) return keeps_text ? secrets.without(text) : null
  const found = write({ paths: paths.map(steps), clean: identity })
  if (found === null || !secrets.isIn(found)) return found
  // Texts are cleaned one by one, so that the result is still JSON or XML.
  return secrets.without(write({ paths: paths.map(steps), clean: secrets.without }) ?? "")
}

/**
 * Makes a function that writes the body without the omitted values; null if it is neither JSON nor XML. If it is nested
 * too deeply, writes null.
 */
const writerOf = (text: string, contentType: string | null): ((leftOut: LeftOut) => string | null) | null => {
  const root = isXml(text, contentType) ? Result.getOrNull(Xml.parse(text)) : null
  if (root !== null) return (leftOut) => Xml.write(XmlRedaction.redact(root, leftOut))
  const json = parseJson(text)
  if (Option.isNone(json)) return null
  return Json.isDeeper(json.value, maxLevels) ? () => null : (leftOut) => JSON.stringify(redact(json.value, leftOut))
}

/** Whether a body is declared as XML. */
export const isXml = (text: string, contentType: string | null): boolean =>
  /[/+]xml\b/i.test(contentType ?? "") || text.startsWith("<?xml")

/** Whether a body is declared as a form. */
export const isForm = (contentType: string | null): boolean => contentType?.includes("x-www-form-urlencoded") === true

/** A form without its values: token requests are forms. */
const namesOnly = (form: string): string =>
  [...new URLSearchParams(form).keys()].map((name) => `${name}=${redacted}`).join("&")

const steps = (path: string): ReadonlyArray<string> => path.split(".")

/** The value without the omitted paths and without fields that have secret names. `*` stands for any name or index. */
const redact = (value: unknown, leftOut: LeftOut): unknown => {
  if (Array.isArray(value)) return value.map((item: unknown, index) => redactAt(item, `${index}`, leftOut))
  if (!Predicate.isObject(value)) return cleaned(value, leftOut)
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      leftOut.clean(name),
      secretName.test(name) && item !== null ? redacted : redactAt(item, name, leftOut)
    ])
  )
}

/** A text without secrets. A number that is a secret becomes text. */
const cleaned = (value: unknown, { clean }: LeftOut): unknown => {
  if (typeof value !== "string" && typeof value !== "number") return value
  const found = clean(`${value}`)
  return found === `${value}` ? value : found
}

const redactAt = (item: unknown, name: string, { clean, paths }: LeftOut): unknown => {
  const here = paths.filter(([first]) => first === name || first === "*").map(([, ...rest]) => rest)
  return here.some((rest) => rest.length === 0) ? redacted : redact(item, { clean, paths: here })
}

/** A URL as recorded: its host, its path, and the names of the query's parameters without their values. */
export const address = (
  { host, pathname, searchParams }: Pick<URL, "host" | "pathname" | "searchParams">,
  { secrets }: Redaction
): { readonly host: string; readonly path: string } => {
  const names = [...new Set(searchParams.keys())].join("&")
  const path = secrets.without(names === "" ? pathname : `${pathname}?${names}`)
  return { host: secrets.without(host), path: path.slice(0, maxPathCharacters).toWellFormed() }
}

const maxPathCharacters = 500
