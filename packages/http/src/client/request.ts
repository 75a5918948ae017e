import type { CallOptions } from "@quotewire/core/client"
import { ApiError, invalidInput } from "./ApiError.ts"
import { type ClientRoute, revision } from "./routes.ts"

/** A call's HTTP request. Every attempt sends the same request. */
export interface CallRequest {
  readonly method: ClientRoute["method"]
  /** The scheme, host and port of the host. */
  readonly origin: string
  /** The path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The strings that must not appear in any error: the key, the read handle and the body. */
  readonly secrets: ReadonlyArray<string>
}

/** Where a client sends its requests, and the key that they carry. */
interface Destination extends Pick<CallRequest, "origin"> {
  /** The path of the base URL, without a trailing slash. */
  readonly base_path: string
  readonly key: string
}

/** Builds a call's request. Throws an `ApiError` if the input cannot be sent. */
export const requestOf = (
  route: ClientRoute,
  { base_path, key, origin }: Destination,
  input: unknown,
  options: CallOptions
): CallRequest => {
  const { method } = route
  const fields = new Map(Object.entries(objectOf(input)).filter(([, value]) => value !== undefined))
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const segment = segmentOf(name, fields.get(name))
    fields.delete(name)
    return segment
  })
  const hasBody = method === "POST" || method === "PATCH"
  const query = hasBody ? "" : queryOf(fields)
  const body = hasBody ? bodyOf(fields) : null
  return {
    method,
    origin,
    path: `${base_path}${path}${query === "" ? "" : `?${query}`}`,
    headers: {
      accept: "application/json",
      authorization: `Bearer ${key}`,
      "service-version": revision,
      ...(hasBody && { "content-type": "application/json" }),
      ...optionHeaders(route, options)
    },
    body,
    secrets: [key, options.read_handle, body].filter((text) => typeof text === "string")
  }
}

const objectOf = (input: unknown): object => {
  if (input === undefined) return {}
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input
  throw invalidInput("", "Must be an object.")
}

const segmentOf = (name: string, value: unknown): string => {
  if (typeof value !== "string") throw invalidInput(name, "Must be text.")
  // These values would change the path, and no resource has such an ID.
  if (value === "" || value === "." || value === "..") throw notFound()
  return encodeURIComponent(value.toWellFormed())
}

type Fields = ReadonlyMap<string, unknown>

const queryOf = (fields: Fields): string =>
  written(fields, (entries) =>
    new URLSearchParams(Array.from(entries, ([name, value]) => [name, String(value)])).toString()
  )

const bodyOf = (fields: Fields): string => written(fields, (entries) => JSON.stringify(Object.fromEntries(entries)))

/**
 * Serializes fields. If that fails, for example because of a BigInt or a circular object, the error names the first
 * wrong field.
 */
const written = (fields: Fields, write: (fields: Fields) => string): string => {
  try {
    return write(fields)
  } catch {
    const [wrongName = ""] = Array.from(fields).find((field) => !canBe(write, field)) ?? []
    throw invalidInput(wrongName, "Must be a value that JSON can represent.")
  }
}

const canBe = (write: (fields: Fields) => string, field: readonly [string, unknown]): boolean => {
  try {
    write(new Map([field]))
    return true
  } catch {
    return false
  }
}

const visibleAscii = /^[\x21-\x7e]{1,255}$/

/** Whether a string can be a header value. */
export const isHeaderValue = (text: unknown): text is string => typeof text === "string" && visibleAscii.test(text)

const optionHeaders = (
  { retry }: ClientRoute,
  { idempotency_key, read_handle }: CallOptions
): Record<string, string> => {
  const headers: Record<string, string> = {}
  const retryKey = idempotency_key ?? (retry === "with_key" ? crypto.randomUUID() : null)
  if (retryKey !== null) {
    if (!isHeaderValue(retryKey)) {
      throw invalidInput("Idempotency-Key", "Send this header with 1 to 255 visible ASCII characters.")
    }
    headers["idempotency-key"] = retryKey
  }
  if (read_handle !== undefined) {
    if (!isHeaderValue(read_handle)) throw notFound()
    headers["read-handle"] = read_handle
  }
  return headers
}

const notFound = () =>
  new ApiError({
    code: "not_found",
    status: 404,
    message: "The resource does not exist, or the caller may not access it.",
    retry_action: "none"
  })
