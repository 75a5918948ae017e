import { Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Environment } from "../../access/Caller.ts"
import { checker } from "../../wire/Argument.ts"
import type { ConnectionValues } from "../Carrier.ts"
import { CarrierHttpMistake } from "./CarrierHttpError.ts"

/** One value for both environments, or a value for each. */
export const ByEnvironment = Schema.Union([
  Schema.String,
  Schema.Struct({ sandbox: Schema.String, live: Schema.String })
]).annotate({ message: "Must be text, or { sandbox, live } with text for each." })
export type ByEnvironment = typeof ByEnvironment.Type

/**
 * The authorization of requests to a carrier, made by `oauth`, `apiKey`, `bearer` or `basic`. It contains the names of
 * connection fields, never their values.
 */
export type Auth = OAuth | ApiKeyAuth | BearerAuth | BasicAuth

/** The OAuth 2.0 client credentials grant. */
export interface OAuth {
  readonly kind: "oauth"
  /** The token endpoint: a path under `base_url`, or a URL. */
  readonly token: { readonly path: string } | { readonly url: ByEnvironment }
  readonly client_id: string
  readonly client_secret: string
  readonly scope: string | null
  readonly credentials: "basic" | "body"
  readonly params: Readonly<Record<string, string>>
}

interface ApiKeyAuth {
  readonly kind: "api_key"
  readonly header: string
  readonly field: string
}

interface BearerAuth {
  readonly kind: "bearer"
  readonly field: string
}

interface BasicAuth {
  readonly kind: "basic"
  readonly user: string
  readonly password: string
}

/** The options of `oauth`. `client_id` and `client_secret` are the names of connection fields. */
export type OAuthOptions = {
  /** The connection field that contains the client ID; `client_id` by default. */
  readonly client_id?: string
  /** The connection field that contains the client secret; `client_secret` by default. */
  readonly client_secret?: string
  readonly scope?: string
  /** Where the client ID and secret are sent: in an `Authorization: Basic` header (default), or in the form. */
  readonly credentials?: "basic" | "body"
  /** Additional form fields, such as an `audience`. */
  readonly params?: Readonly<Record<string, string>>
} & (
  | { readonly token_path: string; readonly token_url?: never }
  | { readonly token_url: ByEnvironment; readonly token_path?: never }
)

const Text = Schema.optional(Schema.String)

const checkedOAuth = checker(
  "oauth",
  Schema.Struct({
    client_id: Text,
    client_secret: Text,
    scope: Text,
    credentials: Schema.optional(Schema.Literals(["basic", "body"])),
    params: Schema.optional(Schema.Record(Schema.String, Schema.String)),
    token_path: Text,
    token_url: Schema.optional(ByEnvironment)
  }).check(
    Schema.makeFilter(({ token_path, token_url }) => token_path !== undefined || token_url !== undefined, {
      expected: "an object with token_path or token_url"
    })
  )
)

/**
 * Authorizes with the OAuth 2.0 client credentials grant. Tokens are cached and shared between calls. A request that
 * gets a 401 is retried once with a new token.
 *
 * @example
 * oauth({ token_path: "/oauth/token", client_id: "client_id", client_secret: "client_secret", scope: "quotes" })
 */
export const oauth = (oauthOptions: OAuthOptions): Auth => {
  const options = checkedOAuth(oauthOptions)
  return {
    kind: "oauth",
    token: options.token_path === undefined ? { url: options.token_url } : { path: options.token_path },
    client_id: options.client_id ?? "client_id",
    client_secret: options.client_secret ?? "client_secret",
    scope: options.scope ?? null,
    credentials: options.credentials ?? "basic",
    params: options.params ?? {}
  }
}

const checkedApiKey = checker("apiKey", Schema.Struct({ header: Schema.String, field: Schema.String }))
const checkedBearer = checker("bearer", Schema.Struct({ field: Schema.String }))
const checkedBasic = checker("basic", Schema.Struct({ user: Schema.String, password: Schema.String }))

/** Sends a connection's API key in a header: `apiKey({ header: "x-api-key", field: "api_key" })`. */
export const apiKey = (options: { readonly header: string; readonly field: string }): Auth => {
  const { field, header } = checkedApiKey(options)
  return { kind: "api_key", header, field }
}

/** Sends a connection's token as `Authorization: Bearer`: `bearer({ field: "token" })`. */
export const bearer = (options: { readonly field: string }): Auth => ({
  kind: "bearer",
  field: checkedBearer(options).field
})

/**
 * Sends a connection's username and password as `Authorization: Basic`, as in
 * `basic({ user: "login", password: "password" })`.
 */
export const basic = (options: { readonly user: string; readonly password: string }): Auth => {
  const { password, user } = checkedBasic(options)
  return { kind: "basic", user, password }
}

/** The connection fields that an authorization reads, each with the name of its option. */
export const fieldsOf = (auth: Auth): ReadonlyArray<{ readonly option: string; readonly field: string }> => {
  switch (auth.kind) {
    case "oauth":
      return [
        { option: "client_id", field: auth.client_id },
        { option: "client_secret", field: auth.client_secret }
      ]
    case "basic":
      return [
        { option: "user", field: auth.user },
        { option: "password", field: auth.password }
      ]
    case "api_key":
    case "bearer":
      return [{ option: "field", field: auth.field }]
  }
}

/** Picks the value for one environment. */
export const inEnvironment = (value: ByEnvironment, environment: Environment): string =>
  typeof value === "string" ? value : value[environment]

/** Returns the value of a connection field. Throws a `CarrierHttpMistake` if the connection lacks the field. */
export const valueOf = (connection: ConnectionValues, field: string): string => {
  const value = connection[field]
  if (value !== undefined) return value
  throw new CarrierHttpMistake({ message: `http.auth: The connection has no field ${JSON.stringify(field)}.` })
}

/** Authorizes a request with a connection's values, in any way except OAuth. */
export const authorized = (
  request: HttpClientRequest.HttpClientRequest,
  auth: Exclude<Auth, OAuth>,
  connection: ConnectionValues
): HttpClientRequest.HttpClientRequest => {
  switch (auth.kind) {
    case "api_key":
      return HttpClientRequest.setHeader(request, auth.header, valueOf(connection, auth.field))
    case "bearer":
      return HttpClientRequest.bearerToken(request, valueOf(connection, auth.field))
    case "basic":
      return HttpClientRequest.basicAuth(request, valueOf(connection, auth.user), valueOf(connection, auth.password))
  }
}
