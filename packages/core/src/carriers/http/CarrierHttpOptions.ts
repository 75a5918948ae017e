import { Predicate, Result, Schema } from "effect"
import type { BrokenRule } from "../../wire/BrokenRule.ts"
import * as HttpAddress from "../../wire/HttpAddress.ts"
import * as Input from "../../wire/Input.ts"
import { type Auth, ByEnvironment, fieldsOf } from "./Auth.ts"

/** The options of an adapter's HTTP client. */
export interface CarrierHttpOptions {
  /**
   * The base URL of the carrier's API, such as `https://api.acme.example/v2`. Plain `http` is allowed only in the
   * sandbox, or for an address on this machine.
   */
  readonly base_url: ByEnvironment
  /** How requests are authorized; by default without credentials. */
  readonly auth?: Auth
  /** Headers to send with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Paths of values in JSON and XML bodies that recordings of exchanges omit, such as `applicant` or `drivers.*.name`.
   */
  readonly redact?: ReadonlyArray<string>
  /**
   * Whether bodies that are neither JSON nor XML, such as CSV, are recorded verbatim; by default only their type and
   * length are recorded. `redact` does not apply to these bodies. Without this option, a cassette cannot record a
   * carrier that answers in such a format.
   */
  readonly keeps_text_bodies?: boolean
  /** The largest response body, in bytes after decompression; 1 MiB by default. */
  readonly max_bytes?: number
}

/** The largest response body if the options set no limit, in bytes. */
export const defaultMaxBytes = 1_024 * 1_024

/** Finds the mistakes in an adapter's HTTP options. `fields` are the names of its connection fields. */
export const optionMistakes = (
  options: CarrierHttpOptions,
  fields: ReadonlyArray<string>
): ReadonlyArray<BrokenRule> => {
  const wrongTypes = findWrongTypes(options)
  if (wrongTypes.length > 0) return wrongTypes
  const { auth, max_bytes = defaultMaxBytes } = options
  const isBound = Number.isSafeInteger(max_bytes) && max_bytes > 0
  return [
    ...addressMistakes("base_url", options.base_url),
    ...(auth?.kind === "oauth" && "url" in auth.token ? addressMistakes("auth.token_url", auth.token.url) : []),
    ...(auth?.kind === "oauth" && "path" in auth.token && !auth.token.path.startsWith("/")
      ? [{ path: "auth.token_path", message: 'Must begin with "/".' }]
      : []),
    ...(auth === undefined ? [] : fieldsOf(auth))
      .filter(({ field }) => !fields.includes(field))
      .map(({ option, field }) => ({
        path: `auth.${option}`,
        message: `Names the connection field ${JSON.stringify(field)}, which the connection does not have.`
      })),
    ...(isBound ? [] : [{ path: "max_bytes", message: "Must be a whole number of bytes, greater than 0." }])
  ]
}

const authKinds: ReadonlyArray<unknown> = ["oauth", "api_key", "bearer", "basic"] satisfies ReadonlyArray<Auth["kind"]>

const isAuth = (value: unknown): value is Auth => Predicate.hasProperty(value, "kind") && authKinds.includes(value.kind)

const findWrongTypes = Input.findings(
  Schema.Struct({
    base_url: ByEnvironment,
    auth: Schema.optional(Schema.declare(isAuth, { message: "Must be the result of oauth, apiKey, bearer or basic." }))
  })
)

const addressMistakes = (path: string, address: ByEnvironment): ReadonlyArray<BrokenRule> =>
  typeof address === "string"
    ? urlMistakes(path, address, false)
    : [...urlMistakes(`${path}.sandbox`, address.sandbox, true), ...urlMistakes(`${path}.live`, address.live, false)]

const urlMistakes = (path: string, text: string, canBePlain: boolean): ReadonlyArray<BrokenRule> => {
  const base = HttpAddress.readBase(text)
  if (Result.isFailure(base)) return [{ path, message: `It ${HttpAddress.rules[base.failure]}.` }]
  const { protocol, hostname } = new URL(base.success)
  return protocol === "https:" || canBePlain || loopback.has(hostname)
    ? []
    : [
        {
          path,
          message:
            "Must begin with https, unless the server is on this machine. To use http in the sandbox, pass { sandbox, live }."
        }
      ]
}

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])
