import { Option, Predicate, Result, Schema } from "effect"
import { Base64 } from "effect/encoding"
import * as Json from "../../wire/Json.ts"
import * as Xml from "../../wire/Xml.ts"

/*
 * The secrets that a request carries, which must not be kept if the carrier repeats them.
 */

/** Names of fields and headers whose values are secrets in any API. */
export const secretName =
  /token$|secret|passw|pswd|api[-_]?key|subscription-key|authori[sz]ation|credential|assertion|^cookie$/i

type Headers = Readonly<Record<string, string | undefined>>

/** Bodies nested more deeply than this are not inspected, and not kept. */
export const maxLevels = 200

/** A request to a carrier, before it is redacted. */
export interface Sent {
  readonly direction: "sent" | "received"
  readonly url: Pick<URL, "searchParams">
  readonly request: {
    readonly headers: Headers
    readonly content_type: string | null
    readonly body: { readonly text: string | null } | null
  }
}

/** The secrets in the headers, queries and bodies of these requests. Requests from a carrier contain none. */
export const ofAll = (requests: ReadonlyArray<Sent>): ReadonlyArray<string> => [
  ...new Set(requests.flatMap((sent) => (sent.direction === "sent" ? of(sent) : [])))
]

const of = ({ request: { body, content_type, headers }, url }: Sent): ReadonlyArray<string> => [
  ...ofHeaders(headers),
  ...ofFields(url.searchParams),
  ...ofBody(body?.text ?? "", content_type ?? "")
]

/** The secrets in the headers of a request: each credential as a whole, and the password in the base64 of `Basic`. */
export const ofHeaders = (headers: Headers): ReadonlyArray<string> =>
  Object.entries(headers).flatMap(([name, value = ""]) => {
    if (!secretName.test(name)) return []
    if (/^cookie$/i.test(name)) return value.split(/;\s*/).map((pair) => pair.slice(pair.indexOf("=") + 1))
    const [, scheme = "", credential = value] = /^(\S+) +(\S.*)$/.exec(value) ?? []
    return /^basic$/i.test(scheme) ? [credential, ...ofBasic(credential)] : [credential]
  })

/** The password of `user:password` in base64, as is and form-decoded. */
const ofBasic = (credential: string): ReadonlyArray<string> => {
  const pair = Result.getOrElse(Base64.decodeString(credential), () => "")
  const colon = pair.indexOf(":")
  if (colon < 0) return []
  const password = pair.slice(colon + 1)
  return [password, new URLSearchParams(`=${password}`).get("") ?? ""]
}

const ofFields = (fields: URLSearchParams): ReadonlyArray<string> =>
  [...fields].flatMap(([name, value]) => (secretName.test(name) ? [value] : []))

const ofBody = (text: string, contentType: string): ReadonlyArray<string> => {
  if (contentType.includes("x-www-form-urlencoded")) return ofFields(new URLSearchParams(text))
  if (/[/+]xml\b/i.test(contentType)) return Result.match(Xml.parse(text), { onFailure: () => [], onSuccess: ofXml })
  return Option.match(parseJson(text), {
    onNone: () => [],
    onSome: (json) => (Json.isDeeper(json, maxLevels) ? [] : ofJson(json))
  })
}

const ofXml = (element: Xml.XmlElement): ReadonlyArray<string> => [
  ...(secretName.test(Xml.localName(element.name)) ? [Xml.textOf(element)] : []),
  ...Object.entries(element.attributes).flatMap(([name, value]) => (secretName.test(name) ? [value] : [])),
  ...Xml.elementsOf(element).flatMap(ofXml)
]

/** Parses JSON; none if the text is not JSON. */
export const parseJson = Schema.decodeOption(Schema.fromJsonString(Schema.Unknown))

const ofJson = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(ofJson)
  if (!Predicate.isObject(value)) return []
  return Object.entries(value).flatMap(([name, item]) =>
    secretName.test(name) && typeof item === "string" ? [item] : ofJson(item)
  )
}
