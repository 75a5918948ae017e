import { identity } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import { InvalidXml } from "../../wire/Xml.ts"
import { CarrierHttpMistake, type Target } from "./CarrierHttpError.ts"
import { textOf, type XmlDocument } from "./XmlBody.ts"

/** The methods of requests to carriers. */
export type CarrierMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** The fields of a query or a form. Undefined fields are omitted. */
export type Fields = Readonly<Record<string, string | number | boolean | ReadonlyArray<string> | undefined>>

/** A request's body: JSON, XML, text of any other type, a form, or no body. */
export type RequestBody =
  | (Only<"json"> & { readonly json: unknown })
  /**
   * An XML body. A field becomes an element, `@name` an attribute, and a list repeats its element. The type is
   * `application/xml` by default.
   */
  | (Omit<Only<"xml">, "content_type"> & { readonly xml: XmlDocument; readonly content_type?: string })
  | (Omit<Only<"text">, "content_type"> & { readonly text: string; readonly content_type: string })
  | (Only<"form"> & { readonly form: Fields })
  | Only<never>

/** Allows the fields of one kind of body; the fields of all other kinds must be absent. */
type Only<Kind extends string> = {
  readonly [Other in Exclude<"json" | "xml" | "text" | "form" | "content_type", Kind>]?: never
}

/** The options of one request. */
export type CarrierRequestOptions = RequestBody & {
  /**
   * The values for `{name}` in the path. They are encoded and never appear in a message, so use them for values from a
   * carrier.
   */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Fields
  readonly headers?: Readonly<Record<string, string>>
  /** Statuses outside 200 to 299 that are treated as answers instead of errors, such as `[404, 422]`. */
  readonly accept?: ReadonlyArray<number>
  /** A shorter timeout than the line's, in milliseconds. It covers the request and its retry. */
  readonly timeout_ms?: number
  /** Whether this request may be sent twice; by default as the line's `idempotent` says. */
  readonly idempotent?: boolean
}

/** The request to send, without its authorization, and how messages describe it. */
export interface Prepared {
  readonly request: HttpClientRequest.HttpClientRequest
  readonly target: Target
}

/** The `user-agent` header of requests to carriers. An adapter's headers can replace it. */
export const userAgent = "Quotewire-Carriers/0.1.0"

/**
 * Prepares a request to a path under `base`. Throws a `CarrierHttpMistake` if the adapter's options cannot be turned
 * into a request.
 */
export const prepare = (
  base: string,
  { method, path }: { readonly method: CarrierMethod; readonly path: string },
  options: CarrierRequestOptions,
  headers: Readonly<Record<string, string>> = {}
): Prepared => {
  const { origin, host } = new URL(base)
  const [written = ""] = path.split(/[?#]/)
  const isLink = written.startsWith(`${origin}/`)
  if (!isLink && !written.startsWith("/"))
    throw mistake(method, host, `the path must begin with "/" or with ${origin}/.`)
  const to = filled(method, host, written, options.params) + path.slice(written.length)
  const url = new URL(isLink ? to : base + to)
  const target = { method, host, path: isLink ? written.slice(origin.length) : written }
  const request = HttpClientRequest.make(method)(url, { body: bodyOf(target, options) }).pipe(
    HttpClientRequest.removeHash,
    HttpClientRequest.appendUrlParams(options.query ?? {}),
    HttpClientRequest.setHeader("user-agent", userAgent),
    options.json === undefined ? identity : HttpClientRequest.acceptJson,
    options.xml === undefined ? identity : HttpClientRequest.accept("application/xml, text/xml"),
    HttpClientRequest.setHeaders(headers),
    HttpClientRequest.setHeaders(options.headers ?? {})
  )
  return { request, target }
}

const mistake = (method: string, host: string, problem: string) =>
  new CarrierHttpMistake({ message: `${method} request to ${host}: ${problem}` })

// A segment of dots would lead to a different path, and an empty segment often means "all".
const isSegment = (value: string | undefined): value is string => value !== undefined && !/^\.{0,2}$/.test(value)

const filled = (method: string, host: string, path: string, params: Readonly<Record<string, string>> = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (isSegment(value)) return encodeURIComponent(value)
    throw mistake(method, host, `params.${name} is missing, is empty, or has only dots.`)
  })

const bodyOf = (
  { method, host }: Target,
  { json, xml, text, content_type, form }: CarrierRequestOptions
): HttpBody.HttpBody => {
  if ([json, xml, text, form].filter((body) => body !== undefined).length > 1) {
    throw mistake(method, host, "pass only one of json, xml, text and form.")
  }
  if (xml !== undefined)
    return HttpBody.text(
      xmlText(xml, (problem) => mistake(method, host, problem)),
      content_type ?? xmlType
    )
  if (form !== undefined) return HttpBody.urlParams(form)
  if (text !== undefined) return HttpBody.text(text, content_type)
  if (json === undefined) return HttpBody.empty
  try {
    return HttpBody.jsonUnsafe(json)
  } catch {
    throw mistake(method, host, "json cannot be encoded, because the value has a circular reference or a bigint.")
  }
}

const xmlType = "application/xml"

const xmlText = (xml: XmlDocument, mistakeOf: (why: string) => CarrierHttpMistake): string => {
  try {
    return textOf(xml)
  } catch (thrown) {
    throw thrown instanceof InvalidXml ? mistakeOf(`xml cannot be sent. ${thrown.message}`) : thrown
  }
}
