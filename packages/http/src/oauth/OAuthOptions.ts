import { type Argument, Caller, HttpAddress, Ids, Input, InvalidArgument } from "@quotewire/core"
import { Result, Schema } from "effect"

/**
 * The kinds of caller that a token can identify. `widget` is missing, because widgets are a shop's web pages and have
 * no tokens.
 */
export const TokenCallerKind = Schema.Literals(["server", "platform"])
export type TokenCallerKind = typeof TokenCallerKind.Type

/** The accepted signature algorithms. All are asymmetric, so the service never holds a key that could sign a token. */
const Algorithm = Schema.Literals([
  ...(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const),
  ...(["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const)
])

const isIssuer = (text: string): boolean =>
  Result.match(HttpAddress.read(text), {
    onFailure: () => false,
    onSuccess: ({ hash, hostname, protocol, search }) =>
      (protocol === "https:" || isLoopback(hostname)) && hash === "" && search === "" && !/[?#]/.test(text)
  })

const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname)

/** Whether keys may be loaded from an address: it must use https or be on this machine. */
export const isSafeAddress = (text: string): boolean =>
  Result.match(HttpAddress.read(text), {
    onFailure: () => false,
    onSuccess: ({ hostname, protocol }) => protocol === "https:" || isLoopback(hostname)
  })

const Text = Schema.String.check(
  Schema.makeFilter((text) => text !== "" && text.length <= 1_000, { expected: "text of 1 to 1000 characters" })
)
const Issuer = Schema.String.check(
  Schema.makeFilter(isIssuer, {
    expected: "an https address without a query or fragment, exactly as in the issuer's `iss` claim"
  })
)
const KeysAddress = Schema.String.check(Schema.makeFilter(isSafeAddress, { expected: "an https address" }))
/** A scope in the syntax of RFC 6749. A scope in this syntax is safe in a header. */
const Scope = Schema.String.check(
  Schema.isPattern(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/u, { expected: "a scope: visible characters without quotes" })
)

/**
 * Options for accepting an issuer's OAuth 2.1 tokens in addition to API keys, at the agent endpoint: the issuer, and
 * what its tokens allow.
 */
export interface OAuthOptions {
  /** The issuer, exactly as in its tokens' `iss` claim, such as `https://login.example.com`. */
  readonly issuer: string
  /** The environment in which callers with a token act. */
  readonly environment: Caller.Environment
  /**
   * The organization of all tokens, `org_…`. If tokens belong to several organizations, set `organizations` instead.
   */
  readonly organization_id?: string
  /**
   * Finds a token's organization by a claim, such as `org_id`. `ids` maps the claim's values to organizations; without
   * `ids`, the claim itself contains the organization's `org_…` ID.
   */
  readonly organizations?: { readonly claim: string; readonly ids?: Readonly<Record<string, string>> }
  /**
   * What each scope allows: as much as a platform key or as much as a server key. A token needs at least one of these
   * scopes. By default, every token allows as much as a platform key.
   */
  readonly scopes?: Readonly<Record<string, TokenCallerKind>>
  /**
   * The tokens' `aud` claim. By default it is the endpoint's address, `{base_url}/v1/mcp`, because clients request
   * tokens for that address (RFC 8707).
   */
  readonly audience?: string
  /** The address of the issuer's keys (JWKS). By default it is read from the issuer's metadata. */
  readonly jwks_url?: string
  /** The accepted signature algorithms, such as `RS256`; by default RS, PS and ES with 256, 384 and 512, EdDSA and Ed25519. */
  readonly algorithms?: ReadonlyArray<typeof Algorithm.Type>
  /**
   * Whether callers with neither a key nor a token are refused, so that agent programs ask their users to sign in;
   * false by default.
   */
  readonly required?: boolean
}

const Options = Schema.Struct({
  issuer: Issuer,
  environment: Caller.Environment,
  organization_id: Schema.optionalKey(Ids.OrganizationId),
  organizations: Schema.optionalKey(
    Schema.Struct({ claim: Text, ids: Schema.optionalKey(Schema.Record(Text, Ids.OrganizationId)) })
  ),
  scopes: Schema.optionalKey(
    Schema.Record(Scope, TokenCallerKind).check(
      Schema.makeFilter((scopes) => Object.keys(scopes).length > 0, { expected: "an object with at least one scope" })
    )
  ),
  audience: Schema.optionalKey(Text),
  jwks_url: Schema.optionalKey(KeysAddress),
  algorithms: Schema.optionalKey(
    Schema.Array(Algorithm).check(Schema.makeFilter((list) => list.length > 0, { expected: "at least one algorithm" }))
  ),
  required: Schema.optionalKey(Schema.Boolean)
})

/** The checked options, with defaults filled in. */
export interface OAuthSettings {
  readonly issuer: string
  readonly environment: Caller.Environment
  readonly organization: OrganizationRule
  /** Null if every token allows as much as a platform key. */
  readonly scopes: Readonly<Record<string, TokenCallerKind>> | null
  /** Null to use the endpoint's address. */
  readonly audience: string | null
  /** Null if the address is read from the issuer's metadata. */
  readonly jwks_url: string | null
  readonly algorithms: ReadonlyArray<string>
  readonly required: boolean
}

/** How a token's organization is found: one organization for all tokens, or by a claim. */
export type OrganizationRule =
  | { readonly organization_id: Ids.OrganizationId }
  | { readonly claim: string; readonly ids: Readonly<Record<string, Ids.OrganizationId>> | null }

const decode = Input.decoder(Options)

/** Checks the options. Reports every wrong option below `oauth`, but repeats no values. */
export const read = (options: unknown): Result.Result<OAuthSettings, ReadonlyArray<Argument.Mistake>> =>
  readNaming(options, ({ message, path }) => ({ path: under(path), message }))

/** Like `read`, with one error that names every wrong option. */
export const check = (options: unknown): Result.Result<OAuthSettings, InvalidArgument> =>
  Result.mapError(read(options), refused)

/** Reads the options from JSON. The error repeats nothing from the JSON, not even unknown option names. */
export const fromJson = (text: string): Result.Result<OAuthSettings, InvalidArgument> =>
  Result.try({
    try: (): unknown => JSON.parse(text),
    catch: () => [{ path: "oauth", message: "Must be JSON." }]
  }).pipe(
    Result.flatMap((options) =>
      readNaming(options, ({ message, path }) => {
        const knownPrefix = knownPart(path)
        return knownPrefix === path
          ? { path: under(path), message }
          : { path: under(knownPrefix), message: "Has a field that is invalid or unknown." }
      })
    ),
    Result.mapError(refused)
  )

const refused = (mistakes: ReadonlyArray<Argument.Mistake>) =>
  new InvalidArgument({ message: mistakes.map(({ message, path }) => `${path}: ${message}`).join(" "), mistakes })

const readNaming = (
  options: unknown,
  describe: (wrong: Argument.Mistake) => Argument.Mistake
): Result.Result<OAuthSettings, ReadonlyArray<Argument.Mistake>> =>
  Result.mapError(decode(options), ({ found }) =>
    found
      .map(describe)
      .filter(({ path, message }, index, all) =>
        all.slice(0, index).every((earlier) => earlier.path !== path || earlier.message !== message)
      )
  ).pipe(
    Result.flatMap((decoded) =>
      Result.map(ruleOf(decoded), (organization) => ({
        issuer: decoded.issuer,
        environment: decoded.environment,
        organization,
        scopes: decoded.scopes ?? null,
        audience: decoded.audience ?? null,
        jwks_url: decoded.jwks_url ?? null,
        algorithms: decoded.algorithms ?? Algorithm.literals,
        required: decoded.required ?? false
      }))
    )
  )

const names: ReadonlyArray<string> = [...Object.keys(Options.fields), "claim", "ids"]

/** The longest prefix of a path that contains only option names. */
const knownPart = (path: string): string => {
  const parts = path.split(".")
  const unknown = parts.findIndex((part) => !names.includes(part) && !/^\d+$/.test(part))
  return unknown < 0 ? path : parts.slice(0, unknown).join(".")
}

const under = (path: string): string => (path === "" ? "oauth" : `oauth.${path}`)

const ruleOf = ({
  organization_id,
  organizations
}: typeof Options.Type): Result.Result<OrganizationRule, ReadonlyArray<Argument.Mistake>> => {
  if (organization_id !== undefined && organizations === undefined) return Result.succeed({ organization_id })
  if (organizations === undefined || organization_id !== undefined) {
    return Result.fail([{ path: "oauth", message: "Must have either organization_id or organizations." }])
  }
  return Result.succeed({ claim: organizations.claim, ids: organizations.ids ?? null })
}
