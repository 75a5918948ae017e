import { readFileSync } from "node:fs"
import { type ConnectionOptions, createSecureContext, type SecureContextOptions } from "node:tls"
import { Effect, Redacted } from "effect"
import { addressOf } from "./Address.ts"
import { DatabaseRefused } from "./DatabaseRefused.ts"

/** The certificates of a connection as PEM text. They replace the files that a URL can name. */
export interface TlsOptions {
  /** The certificate authorities to trust instead of Node's. */
  readonly ca?: string
  /** The client certificate that this program presents to the server. */
  readonly cert?: string
  /** The private key of `cert`. */
  readonly key?: string
}

/**
 * The values of `sslmode` that encrypt. All of them verify the server's certificate; `verify-ca` does not check the
 * host name in it.
 */
const encrypted = ["require", "verify-ca", "verify-full"]
const modes = ["disable", "allow", "prefer", ...encrypted]
const files = { ca: "sslrootcert", cert: "sslcert", key: "sslkey" } as const

const refused = (message: string) => new DatabaseRefused({ reason: "tls", message })

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? ` (${error.code})` : ""

/** Runs a function. If it throws, fails with the given message. */
const attempt = <A>(step: () => A, message: (code: string) => string): Effect.Effect<A, DatabaseRefused> =>
  Effect.try({ try: step, catch: (error) => refused(message(codeOf(error))) })

/** Reads the certificate files that a URL's parameters name, as PEM text. */
const read = Effect.fnUntraced(function* (params: URLSearchParams): Effect.fn.Return<TlsOptions, DatabaseRefused> {
  const texts: { -readonly [K in keyof TlsOptions]: TlsOptions[K] } = {}
  for (const part of ["ca", "cert", "key"] as const) {
    const path = params.get(files[part])
    // As in psql, `system` stands for the authorities that this machine trusts.
    if (path === null || (part === "ca" && path === "system")) continue
    texts[part] = yield* attempt(
      () => readFileSync(path, "utf8"),
      (code) => `The file that ${files[part]} names in the database address cannot be read${code}.`
    )
  }
  return texts
})

/**
 * Decides how to encrypt the connections to a URL; undefined if the URL's `sslmode` decides.
 *
 * `sslmode` works as in libpq, except that `require` also verifies the certificate. Fails with `tls` if files cannot be
 * read or settings contradict each other. No message repeats a path, a key or a password.
 */
export const tlsOf = Effect.fnUntraced(function* (options: {
  readonly url: Redacted.Redacted<string>
  readonly tls?: TlsOptions
}): Effect.fn.Return<ConnectionOptions | undefined, DatabaseRefused> {
  const params = addressOf(Redacted.value(options.url))?.searchParams ?? new URLSearchParams()
  const mode = params.get("sslmode")
  if (mode !== null && !modes.includes(mode)) {
    return yield* refused(`sslmode in the database address must be one of ${modes.join(", ")}.`)
  }
  const contextOptions: SecureContextOptions = { ...(yield* read(params)), ...options.tls }
  const hasCertificates = Object.values(contextOptions).some((text) => text !== undefined)
  if (mode === null || !encrypted.includes(mode)) {
    if (!hasCertificates) return undefined
    return yield* refused("Certificates need TLS: add sslmode=verify-full to the database address.")
  }
  if ((contextOptions.cert === undefined) !== (contextOptions.key === undefined)) {
    return yield* refused("A client certificate and its key must be set together: set sslcert and sslkey.")
  }
  const secureContext = yield* attempt(
    () => createSecureContext(contextOptions),
    (code) =>
      `The certificates or the key for the database cannot be used${code}: they must be PEM, and match each other.`
  )
  return mode === "verify-ca" ? { secureContext, checkServerIdentity: () => undefined } : { secureContext }
})
