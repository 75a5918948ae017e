import { identity, Option, Predicate, Result, Schema } from "effect"
import { Base64 } from "effect/encoding"
import * as Json from "../../wire/Json.ts"
import * as Xml from "../../wire/Xml.ts"
import type { CarrierAdapter, ConnectionValues } from "../Carrier.ts"
import * as SecretFinder from "./SecretFinder.ts"
import { redacted } from "./SecretFinder.ts"

/* Finds the secrets in requests to carriers, and records messages without these secrets. */

/** Names of fields and headers whose values are secrets in any API. */
const secretName =
  /token$|secret|passw|pswd|api[-_]?key|subscription-key|authori[sz]ation|credential|assertion|^cookie$/i

type Headers = Readonly<Record<string, string | undefined>>

/** The maximum nesting depth. A body that is nested more deeply is neither inspected nor recorded. */
const maxLevels = 200

/** A request to a carrier, before it is redacted. */
export interface SentMessage {
  readonly direction: "sent" | "received"
  readonly url: Pick<URL, "searchParams">
  readonly request: {
    readonly headers: Headers
    readonly content_type: string | null
    readonly body: { readonly text: string | null } | null
  }
}

/** The secrets in the headers, queries and bodies of these requests. Requests that a carrier sent are skipped. */
export const secretsSent = (requests: ReadonlyArray<SentMessage>): ReadonlyArray<string> => [
  ...new Set(requests.flatMap((request) => (request.direction === "sent" ? secretsOf(request) : [])))
]

const secretsOf = ({ request: { body, content_type, headers }, url }: SentMessage): ReadonlyArray<string> => [
  ...secretsInHeaders(headers),
  ...secretsInFields(url.searchParams),
  ...secretsInBody(body?.text ?? "", content_type ?? "")
]

/** The secrets in a request's headers: each credential as a whole, and the password inside a `Basic` credential. */
export const secretsInHeaders = (headers: Headers): ReadonlyArray<string> =>
  Object.entries(headers).flatMap(([name, value = ""]) => {
    if (!secretName.test(name)) return []
    if (/^cookie$/i.test(name)) return value.split(/;\s*/).map((pair) => pair.slice(pair.indexOf("=") + 1))
    const [, scheme = "", credential = value] = /^(\S+) +(\S.*)$/.exec(value) ?? []
    return /^basic$/i.test(scheme) ? [credential, ...passwordsIn(credential)] : [credential]
  })

/** The password in a base64-encoded `user:password`, both unchanged and form-decoded. */
const passwordsIn = (credential: string): ReadonlyArray<string> => {
  const pair = Result.getOrElse(Base64.decodeString(credential), () => "")
  const colon = pair.indexOf(":")
  if (colon < 0) return []
  const password = pair.slice(colon + 1)
  return [password, new URLSearchParams(`=${password}`).get("") ?? ""]
}

const secretsInFields = (fields: URLSearchParams): ReadonlyArray<string> =>
  [...fields].flatMap(([name, value]) => (secretName.test(name) ? [value] : []))

const secretsInBody = (text: string, contentType: string): ReadonlyArray<string> => {
  if (isForm(contentType)) return secretsInFields(new URLSearchParams(text))
  if (/[/+]xml\b/i.test(contentType))
    return Result.match(Xml.parse(text), { onFailure: () => [], onSuccess: secretsInXml })
  return Option.match(parseJson(text), {
    onNone: () => [],
    onSome: (json) => (Json.isDeeper(json, maxLevels) ? [] : secretsInJson(json))
  })
}

const secretsInXml = (element: Xml.XmlElement): ReadonlyArray<string> => [
  ...(secretName.test(Xml.localName(element.name)) ? [Xml.textOf(element)] : []),
  ...Object.entries(element.attributes).flatMap(([name, value]) => (secretName.test(name) ? [value] : [])),
  ...Xml.elementsOf(element).flatMap(secretsInXml)
]

/** Parses JSON. Returns `None` if the text is not JSON. */
const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const secretsInJson = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(secretsInJson)
  if (!Predicate.isObject(value)) return []
  return Object.entries(value).flatMap(([name, item]) =>
    secretName.test(name) && typeof item === "string" ? [item] : secretsInJson(item)
  )
}

/** How the bodies of a carrier's exchanges are recorded. */
export interface Redaction {
  /** Paths of values in JSON and XML bodies that are not recorded, such as `applicant` or `drivers.*.name`. */
  readonly paths: ReadonlyArray<string>
  /** Whether bodies other than JSON, XML and forms are recorded. */
  readonly keeps_text: boolean
  /** Values that are never recorded in any form, such as an API key. */
  readonly secrets: SecretFinder.SecretFinder
}

/** What an adapter declares about its secrets and the bodies of its exchanges. */
export type Declared = Pick<CarrierAdapter, "connection" | "keeps_text_bodies" | "redact">

/** How to redact an adapter's exchanges if they may contain these secrets. */
export const redactionOf = (
  { keeps_text_bodies = false, redact: paths = [] }: Omit<Declared, "connection">,
  secrets: SecretFinder.SecretFinder
): Redaction => ({ paths, keeps_text: keeps_text_bodies, secrets })

/** How to redact an adapter's exchanges after it has sent these requests over a connection with these values. */
export const redactionAfter = (
  adapter: Declared,
  values: ConnectionValues | undefined,
  requests: ReadonlyArray<SentMessage>
): Redaction => redactionOf(adapter, SecretFinder.ofCarrier(adapter, values, secretsSent(requests)))

/** One side of an HTTP exchange. */
export const RecordedMessage = Schema.Struct({
  /** Only headers that are harmless to record, so never `authorization` or cookies. */
  headers: Schema.Record(Schema.String, Schema.String),
  content_type: Schema.NullOr(Schema.String),
  /** The length of the body in bytes before it was redacted and truncated; null if unknown. */
  bytes: Schema.NullOr(Schema.Int),
  /** The redacted body; null if the body is not recorded. */
  body: Schema.NullOr(Schema.String),
  /**
   * How much of the body was recorded. `whole`: the whole body. `cut`: the beginning of the body. `left_out`: the body
   * was not recorded. `none`: there was no body, or the adapter did not read it.
   */
  kept: Schema.Literals(["whole", "cut", "left_out", "none"])
}).annotate({ identifier: "RecordedMessage" })
export type RecordedMessage = typeof RecordedMessage.Type

/** A message before it is redacted. */
export interface RawMessage {
  readonly headers: Headers
  readonly content_type: string | null
  /** The body; null if it was not read. */
  readonly body: RawBody | null
}

/** A body before it is redacted. */
export interface RawBody {
  readonly bytes: number | null
  /** The text of the body; null if the body is too long or is not text. */
  readonly text: string | null
}

/** Longer bodies are neither inspected nor recorded, because only a whole body can be redacted. */
export const maxReadCharacters = 256 * 1_024
/** Bodies are truncated to this length after redaction. */
const maxKeptCharacters = 16 * 1_024

/** The names of the headers that are recorded. */
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
  const redactedText = text === null || text === "" ? null : bodyOf(text, content_type, redaction)
  return {
    headers: headersOf(headers, redaction),
    content_type: content_type === null ? null : headerText(content_type, redaction),
    bytes: body?.bytes ?? null,
    body: redactedText === null ? null : redactedText.slice(0, maxKeptCharacters).toWellFormed(),
    kept: keptAs(body, redactedText)
  }
}

/** The headers that are recorded, truncated. */
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

const keptAs = (body: RawBody | null, redactedText: string | null): RecordedMessage["kept"] => {
  if (redactedText !== null) return redactedText.length > maxKeptCharacters ? "cut" : "whole"
  return body === null || body.bytes === 0 || body.text === "" ? "none" : "left_out"
}

/** The redacted body at its full length; null if it is not recorded. */
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
  // Text values are cleaned one by one, so that the result is still valid JSON or XML.
  return secrets.without(write({ paths: paths.map(steps), clean: secrets.without }) ?? "")
}

/**
 * Makes a function that writes the body without the omitted values; null if the body is neither JSON nor XML. The
 * function returns null if the body is nested too deeply.
 */
const writerOf = (text: string, contentType: string | null): ((leftOut: LeftOut) => string | null) | null => {
  const root = isXml(text, contentType) ? Result.getOrNull(Xml.parse(text)) : null
  if (root !== null) return (leftOut) => Xml.write(redactXml(root, leftOut))
  const json = parseJson(text)
  if (Option.isNone(json)) return null
  return Json.isDeeper(json.value, maxLevels) ? () => null : (leftOut) => JSON.stringify(redact(json.value, leftOut))
}

/** Whether a body is declared as XML. */
export const isXml = (text: string, contentType: string | null): boolean =>
  /[/+]xml\b/i.test(contentType ?? "") || text.startsWith("<?xml")

/** Whether a body is declared as a form. */
export const isForm = (contentType: string | null): boolean => contentType?.includes("x-www-form-urlencoded") === true

/** Keeps only the names of a form's fields. Values are dropped, because token requests are forms. */
const namesOnly = (form: string): string =>
  [...new URLSearchParams(form).keys()].map((name) => `${name}=${redacted}`).join("&")

const steps = (path: string): ReadonlyArray<string> => path.split(".")

/** Says what to omit from a body: the values at these paths, and everything that `clean` removes from text values. */
interface LeftOut {
  readonly paths: ReadonlyArray<Path>
  readonly clean: (text: string) => string
}

type Path = ReadonlyArray<string>

/**
 * A value without the omitted paths and without fields that have secret names. In a path, `*` stands for any name or
 * index.
 */
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

/** A value without secrets. A number that contains a secret becomes text. */
const cleaned = (value: unknown, { clean }: LeftOut): unknown => {
  if (typeof value !== "string" && typeof value !== "number") return value
  const cleanText = clean(`${value}`)
  return cleanText === `${value}` ? value : cleanText
}

const redactAt = (item: unknown, name: string, { clean, paths }: LeftOut): unknown => {
  const here = paths.filter(([first]) => first === name || first === "*").map(([, ...rest]) => rest)
  return here.some((rest) => rest.length === 0) ? redacted : redact(item, { clean, paths: here })
}

/**
 * A document without the omitted values, and without elements and attributes that have secret names.
 *
 * A path may begin at any element, so it need not include an envelope. A step names an element or an attribute without
 * its namespace prefix, or is `*` for any name. An index or `*` may follow the name of an element that can repeat, as
 * in a list.
 */
const redactXml = (root: Xml.XmlElement, leftOut: LeftOut): Xml.XmlElement => elementOf(root, 0, leftOut.paths, leftOut)

/** An element's content, without white space between child elements. */
const contentOf = ({ children }: Xml.XmlElement) => {
  const hasElements = children.some((child) => typeof child !== "string")
  return children.filter((child) => typeof child !== "string" || !hasElements || child.trim() !== "")
}

const elementOf = (
  element: Xml.XmlElement,
  index: number,
  paths: ReadonlyArray<Path>,
  leftOut: LeftOut
): Xml.XmlElement => {
  const name = Xml.localName(element.name)
  const rests = paths.flatMap(restAfter([element.name, name]))
  const isHere = rests.some((rest) => rest.length === 0 || (rest.length === 1 && rest[0] === `${index}`))
  if (isHere || secretName.test(name)) return emptied(element)
  const inside = [
    ...rests,
    ...rests.flatMap(restAfter([`${index}`])).filter((rest) => rest.length > 0),
    ...leftOut.paths
  ]
  const isLeftOut = (...names: ReadonlyArray<string>) =>
    inside.some((path) => path.length === 1 && isStep(path[0], names))
  const attributes = Object.entries(element.attributes).map(([attribute, value]) => {
    const local = Xml.localName(attribute)
    const isSecret = secretName.test(local) || isLeftOut(attribute, local, `@${local}`)
    return [attribute, isSecret && !Xml.isDeclaration(attribute) ? redacted : leftOut.clean(value)]
  })
  const places = new Map<string, number>()
  const children = contentOf(element).map((child) => {
    if (typeof child === "string")
      return rests.some((rest) => rest.length === 1 && isStep(rest[0], ["#text"])) ? redacted : leftOut.clean(child)
    const place = places.get(child.name) ?? 0
    places.set(child.name, place + 1)
    return elementOf(child, place, inside, leftOut)
  })
  return { name: element.name, attributes: Object.fromEntries(attributes), children }
}

const isStep = (step: string | undefined, names: ReadonlyArray<string>): boolean =>
  step === "*" || (step !== undefined && names.includes(step))

/** The rest of each path whose first step is one of these names. */
const restAfter =
  (names: ReadonlyArray<string>) =>
  ([step, ...rest]: Path): ReadonlyArray<Path> =>
    isStep(step, names) ? [rest] : []

/** An element with its content replaced, except for namespace declarations. An empty element stays empty. */
const emptied = ({ attributes, children, name }: Xml.XmlElement): Xml.XmlElement => ({
  name,
  attributes: Object.fromEntries(Object.entries(attributes).filter(([attribute]) => Xml.isDeclaration(attribute))),
  children: children.length === 0 && Object.keys(attributes).every(Xml.isDeclaration) ? [] : [redacted]
})

/** A URL as recorded: its host, its path, and the names of the query parameters without their values. */
export const address = (
  { host, pathname, searchParams }: Pick<URL, "host" | "pathname" | "searchParams">,
  secrets: SecretFinder.SecretFinder
): { readonly host: string; readonly path: string } => {
  const names = [...new Set(searchParams.keys())].join("&")
  const path = secrets.without(names === "" ? pathname : `${pathname}?${names}`)
  return { host: secrets.without(host), path: path.slice(0, maxPathCharacters).toWellFormed() }
}

const maxPathCharacters = 500
