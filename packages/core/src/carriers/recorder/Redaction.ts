import { Option, Predicate, Schema } from "effect"
import type { CarrierAdapter, ConnectionValues } from "../Carrier.ts"
import type { RecordedMessage } from "./Exchange.ts"

/** How the bodies of one carrier are recorded. */
export interface Redaction {
  /** Paths of values in JSON bodies that are not recorded, such as `applicant` or `drivers.*.name`. */
  readonly paths: ReadonlyArray<string>
  /** Whether bodies that are neither JSON nor forms are recorded. */
  readonly keeps_text: boolean
  /** Texts that are never recorded, wherever they are, such as an API key. */
  readonly secrets: ReadonlyArray<string>
}

/** What an adapter says about its secrets and about the bodies of its exchanges. */
export type Declared = Pick<CarrierAdapter, "connection" | "keeps_text_bodies" | "redact">

/** The redaction of an adapter's exchanges. Of a connection, all that the adapter does not declare as a `string` is secret. */
export const redactionOf = (
  { connection = {}, keeps_text_bodies = false, redact = [] }: Declared,
  values: ConnectionValues = {}
): Redaction => ({
  paths: redact,
  keeps_text: keeps_text_bodies,
  secrets: Object.entries(values).flatMap(([name, value]) => (connection[name] === "string" ? [] : [value]))
})

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
  /** Null if it is too long, or no text. */
  readonly text: string | null
}

/** Bodies above this length are not looked into, because only a whole body can be redacted. */
export const max_read_characters = 256 * 1_024
/** Bodies are cut to this length after they are redacted. */
const max_kept_characters = 16 * 1_024

/** The headers that are recorded. */
const headers_kept: ReadonlySet<string> = new Set([
  "content-type",
  "date",
  "retry-after",
  "request-id",
  "x-request-id",
  "correlation-id",
  "x-correlation-id"
])

/** What stands in place of a value that is not recorded. */
const redacted = "[redacted]"

/** The recorded form of a message. */
export const recorded = ({ body, content_type, headers }: RawMessage, redaction: Redaction): RecordedMessage => {
  const text = body?.text ?? null
  const kept = text === null || text === "" ? null : bodyOf(text, content_type, redaction)
  return {
    headers: headersOf(headers, redaction),
    content_type,
    bytes: body?.bytes ?? null,
    body: kept === null ? null : kept.slice(0, max_kept_characters).toWellFormed(),
    kept: keptAs(body, kept)
  }
}

/** The headers that are recorded, cut to length. */
export const headersOf = (headers: RawMessage["headers"], { secrets }: Redaction): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value !== undefined && headers_kept.has(name.toLowerCase())
        ? [[name.toLowerCase(), withoutSecrets(value, secrets).slice(0, max_header_characters)]]
        : []
    )
  )

const max_header_characters = 200

const keptAs = (body: RawBody | null, kept: string | null): RecordedMessage["kept"] => {
  if (kept !== null) return kept.length > max_kept_characters ? "cut" : "whole"
  return body === null || body.bytes === 0 || body.text === "" ? "none" : "left_out"
}

/** The redacted body, as long as it is; null if it is not kept. */
export const bodyOf = (
  text: string,
  content_type: string | null,
  { keeps_text, paths, secrets }: Redaction
): string | null => {
  if (content_type?.includes("x-www-form-urlencoded") === true) return namesOnly(text)
  const json = parseJson(text)
  if (Option.isSome(json)) return withoutSecrets(JSON.stringify(redact(json.value, paths.map(steps))), secrets)
  return keeps_text ? withoutSecrets(text, secrets) : null
}

const parseJson = Schema.decodeOption(Schema.fromJsonString(Schema.Unknown))

/** A form without its values: forms are how tokens are asked for. */
const namesOnly = (form: string): string =>
  [...new URLSearchParams(form).keys()].map((name) => `${name}=${redacted}`).join("&")

const steps = (path: string): ReadonlyArray<string> => path.split(".")

/** Names of fields whose values are secrets in any API. */
const secret_name = /token$|secret|passw|pswd|api_?key|authorization|credential|assertion/i

/** The value without what these paths lead to, and without secrets. `*` stands for any name or index. */
const redact = (value: unknown, paths: ReadonlyArray<ReadonlyArray<string>>): unknown => {
  if (Array.isArray(value)) return value.map((item: unknown, index) => redactAt(item, `${index}`, paths))
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      secret_name.test(name) && item !== null ? redacted : redactAt(item, name, paths)
    ])
  )
}

const redactAt = (item: unknown, name: string, paths: ReadonlyArray<ReadonlyArray<string>>): unknown => {
  const here = paths.filter(([first]) => first === name || first === "*").map(([, ...rest]) => rest)
  return here.some((rest) => rest.length === 0) ? redacted : redact(item, here)
}

/** Shorter texts are too common to be removed everywhere. */
const min_secret_characters = 4

/** The text without these secrets, as they are, or as JSON or a URL writes them. */
const withoutSecrets = (text: string, secrets: ReadonlyArray<string>): string =>
  secrets
    .filter((secret) => secret.length >= min_secret_characters)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())])
    .reduce((rest, secret) => rest.replaceAll(secret, redacted), text)

/** A URL as it is recorded: its host, and its path with the names of the query's parameters but not their values. */
export const address = (
  { host, pathname, searchParams }: Pick<URL, "host" | "pathname" | "searchParams">,
  { secrets }: Redaction
): { readonly host: string; readonly path: string } => {
  const names = [...new Set(searchParams.keys())].join("&")
  const path = withoutSecrets(names === "" ? pathname : `${pathname}?${names}`, secrets)
  return { host, path: path.slice(0, max_path_characters).toWellFormed() }
}

const max_path_characters = 500
