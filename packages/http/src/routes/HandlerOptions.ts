import { Allowance, Argument, type Limits, PublicUrl, type Quotewire } from "@quotewire/core"
import { Effect, Predicate, Result, Schema, Struct } from "effect"
import * as Addresses from "../host/Addresses.ts"
import type * as Answering from "../host/Answering.ts"
import * as Body from "../host/Body.ts"
import * as Paths from "../host/Paths.ts"
import * as RequestInfo from "../host/RequestInfo.ts"
import type { MessageEndpoint } from "../messages/MessageRoute.ts"
import * as OAuthOptions from "../oauth/OAuthOptions.ts"
import type * as Api from "./Api.ts"
import * as ServiceApi from "./ServiceApi.ts"

/** Options of a handler inside another program, as plain values. */
export interface HandlerOptions extends Pick<Answering.Settings, "onAnswered">, Body.Limits {
  /**
   * The path below which requests arrive, such as `/api/insurance`. Set it if your framework passes on the whole URL,
   * as Next and Fastify do. Express removes its mount path from the URL and reports it.
   */
  readonly base_path?: string
  /**
   * The address at which callers reach the handler, including its path. Links in responses begin with it. By default it
   * is the `public_url` of `embed`. It is never taken from the `Host` header, because any caller can set that header.
   */
  readonly base_url?: string
  /** The address of the documentation; `{base_url}/docs` by default. */
  readonly docs_url?: string
  /**
   * The origins, such as `https://shop.example`, whose web pages may call the routes that accept widget keys; none by
   * default.
   */
  readonly cors_origins?: ReadonlyArray<string>
  /**
   * The proxies that are trusted to report a caller's address: the number of consecutive hops, such as 1, or their
   * networks, such as `10.0.0.0/8,fd00::/8`. None by default.
   */
  readonly proxies?: number | string
  /** The header in which these proxies report the caller's address; `x-forwarded-for` by default. */
  readonly proxy_header?: RequestInfo.ProxyHeader
  /** The agent endpoint: pass `mcp` from `@quotewire/mcp`. Without it, agents are not served. */
  readonly mcp?: () => MessageEndpoint<ServiceApi.Services>
  /** The origins whose web pages may call the agent endpoint; none by default. */
  readonly mcp_origins?: ReadonlyArray<string>
  /**
   * The organization that agents without a key act for, and their environment, which is the sandbox by default. Applies
   * to `/v1/mcp` only. Without this option, agents need a key.
   */
  readonly keyless?: Quotewire.Keyless
  /**
   * The OAuth issuer whose tokens are accepted; none by default. The agent endpoint accepts them in addition to keys,
   * so that users can sign in from their agent programs. The operators' API accepts them in addition to operators'
   * tokens. Set `base_url`, or `public_url` of `embed`, because tokens are issued for that address.
   */
  readonly oauth?: OAuthOptions.OAuthOptions
  /**
   * Whether to serve the operators' API, below `/operator/v1`; false by default. It accepts operators' tokens and, with
   * `oauth`, the issuer's tokens.
   */
  readonly operators?: boolean
  /**
   * Whether to serve the console, a page for browsers, at `/console`; false by default. In a program that is bundled
   * into one file, name the folder with a copy of `node_modules/@quotewire/http/dist/console`.
   */
  readonly console?: boolean | ConsoleFolder
  /**
   * The rate limits of outside callers; by default the limits of `embed`, or otherwise the limits in the API contract.
   * Your own calls do not count toward them.
   */
  readonly limits?: Limits
  /** How long running requests may take to finish when the service is closed, in milliseconds; 8,000 by default. */
  readonly grace_ms?: number
}

/** The folder that contains the console's files. */
export interface ConsoleFolder {
  readonly folder: string | URL
}

/** The checked options. */
export interface CheckedOptions {
  /** The base path, percent-encoded and without a trailing slash; an empty string for the root. */
  readonly base_path: string
  readonly base_url: string | null
  readonly docs_url: string | null
  readonly answering: Omit<Answering.Settings, "docs_url"> & Body.Limits
  readonly proxies: RequestInfo.Proxies | null
  /** Null to use the service's limits. */
  readonly limits: Limits | null
  readonly grace_ms: number
  readonly keyless: Quotewire.Keyless | null
  readonly service: Omit<Api.Settings<ServiceApi.Services>, "base_url">
}

type Checks<A> = Result.Result<A, ReadonlyArray<Argument.Mistake>>

/** Checks the options. Reports every mistake, by the option's name. */
export const check = (options: HandlerOptions): Checks<CheckedOptions> => {
  if (!Predicate.isReadonlyObject(options)) {
    return Result.fail([{ path: "options", message: "Must be an object, such as { base_path: '/insurance' }." }])
  }
  const wrongTypes = types.filter(([name, isType]) => options[name] !== undefined && !isType(options[name]))
  // The other checks read only options of the right type.
  const typed: HandlerOptions = Struct.omit(
    options,
    wrongTypes.map(([name]) => name)
  )
  const checks = Argument.every({
    types:
      wrongTypes.length === 0
        ? Result.succeed(null)
        : Result.fail(wrongTypes.map(([path, , what]) => ({ path, message: `Must be ${what}.` }))),
    base_path: basePathOf(typed),
    addresses: Addresses.read(typed),
    max_arriving_bytes: atLeast(Body.maxBytes, "max_arriving_bytes", typed.max_arriving_bytes ?? Body.maxBytes),
    proxies: proxiesOf(typed),
    grace_ms: atLeast(0, "grace_ms", typed.grace_ms ?? 8_000),
    keyless: keylessOf(options),
    oauth: oauthOf(options)
  })
  return Result.map(checks, (valid) => checkedOf(options, valid))
}

interface Valid {
  readonly base_path: string
  readonly addresses: HandlerOptions
  readonly proxies: RequestInfo.Proxies | null
  readonly grace_ms: number
  readonly keyless: Quotewire.Keyless | null
  readonly oauth: OAuthOptions.OAuthSettings | null
}

const checkedOf = (
  { limits, max_arriving_bytes, mcp, onAnswered, operators = false, console: pages = false }: HandlerOptions,
  { addresses, base_path, grace_ms, keyless, oauth, proxies }: Valid
): CheckedOptions => {
  const { base_url = null, cors_origins = [], docs_url = null, mcp_origins = [] } = addresses
  return {
    base_path,
    base_url,
    docs_url,
    answering: {
      cors_origins,
      ...(onAnswered !== undefined && { onAnswered }),
      ...(max_arriving_bytes !== undefined && { max_arriving_bytes })
    },
    proxies,
    limits: limits ?? null,
    grace_ms,
    keyless,
    service: ServiceApi.of({
      ...(mcp !== undefined && { mcp }),
      mcp_origins: { allowed: mcp_origins, loopback: false },
      oauth,
      operators,
      ...(pages !== false && { console: pages === true ? {} : pages })
    })
  }
}

const refused = (path: string, message: string) => Result.fail([{ path, message }])

const isListOfText = (value: unknown): boolean => Array.isArray(value) && value.every(Predicate.isString)

const isConsole = (value: unknown): boolean =>
  typeof value === "boolean" ||
  (Predicate.hasProperty(value, "folder") && (Predicate.isString(value.folder) || value.folder instanceof URL))

const origins = 'a list of origins, such as ["https://shop.example"]'

/** The types of options that no other check covers. JavaScript programs have no compiler to check them. */
const types: ReadonlyArray<readonly [name: string, is: (value: unknown) => boolean, what: string]> = [
  ["base_path", Predicate.isString, "a path, such as /insurance"],
  ["base_url", Predicate.isString, "an address, such as https://shop.example/insurance"],
  ["docs_url", Predicate.isString, "an address, such as https://shop.example/docs"],
  ["cors_origins", isListOfText, origins],
  ["mcp_origins", isListOfText, origins],
  [
    "mcp",
    Predicate.isFunction,
    "a function that creates the agent endpoint: pass mcp from @quotewire/mcp without calling it"
  ],
  ["operators", Predicate.isBoolean, "true or false"],
  ["console", isConsole, "true, false, or { folder } with the folder of the console's files"],
  ["onAnswered", Predicate.isFunction, "a function"],
  ["address", Predicate.isFunction, "a function"],
  ["limits", Allowance.isLimits, "an object with every limit in Allowance.standardLimits"]
]

const basePathOf = ({ base_path = "/" }: HandlerOptions): Checks<string> =>
  Result.mapError(Paths.readBasePath(base_path), (message) => [{ path: "base_path", message }])

const oauthOf = ({ mcp, oauth, operators = false }: HandlerOptions): Checks<OAuthOptions.OAuthSettings | null> => {
  if (oauth === undefined) return Result.succeed(null)
  return mcp === undefined && !operators
    ? refused("oauth", "Needs mcp or operators: its tokens are for the agent endpoint and the operators' API.")
    : OAuthOptions.read(oauth)
}

const keylessOf = ({ keyless, mcp }: HandlerOptions): Checks<Quotewire.Keyless | null> => {
  if (keyless === undefined) return Result.succeed(null)
  if (mcp === undefined) return refused("keyless", "Needs mcp: only agents can call without a key.")
  return isKeyless(keyless)
    ? Result.succeed(keyless)
    : refused("keyless", 'Must be { organization_id, environment }. The environment is optional: "sandbox" or "live".')
}

const isKeyless = Schema.is(
  Schema.Struct({
    organization_id: Schema.String,
    environment: Schema.optionalKey(Schema.Literals(["sandbox", "live"]))
  })
)

/** Checks that a number is not too small. */
export const atLeast = (lowest: number, name: string, value: number): Checks<number> =>
  typeof value === "number" && value >= lowest
    ? Result.succeed(value)
    : refused(name, `Must be a number, at least ${lowest}.`)

const proxiesOf = ({
  proxies,
  proxy_header = "x-forwarded-for"
}: HandlerOptions): Checks<RequestInfo.Proxies | null> => {
  if (proxies === undefined) return Result.succeed(null)
  const trusted = RequestInfo.readTrusted(String(proxies))
  const isHeader = RequestInfo.proxyHeaders.includes(proxy_header)
  if (trusted !== null && isHeader) return Result.succeed({ trusted, header: proxy_header })
  const wrong = [
    ...(trusted === null
      ? [
          {
            path: "proxies",
            message:
              "Must be the number of proxies in front of the host, from 1 to 16, or networks such as 10.0.0.0/8,fd00::/8."
          }
        ]
      : []),
    ...(isHeader ? [] : [{ path: "proxy_header", message: `Must be ${RequestInfo.proxyHeaders.join(" or ")}.` }])
  ]
  return Result.fail(wrong)
}

/** The addresses and paths at which callers reach a handler. */
export interface ServedAt {
  readonly base_url: string
  readonly docs_url: string
  /** The path of `base_url`; undefined if `base_url` is not set. The path is then taken from each request. */
  readonly public_path: string | undefined
}

/**
 * Finds out where callers reach a handler, from its options or the service's public address. Logs a warning if neither
 * is set.
 */
export const placeOf = Effect.fnUntraced(function* ({ base_path, base_url: baseUrl, docs_url }: CheckedOptions) {
  const shared = yield* yield* PublicUrl.PublicUrl
  const isKnown = baseUrl !== null || shared !== PublicUrl.defaultAddress
  if (!isKnown) yield* Effect.logWarning(unknownAddress)
  const base_url = baseUrl ?? (isKnown ? shared : `${shared}${base_path}`)
  return {
    base_url,
    docs_url: docs_url ?? `${base_url}/docs`,
    public_path: isKnown ? Addresses.pathOf(base_url) : undefined
  } satisfies ServedAt
})

const unknownAddress = `Links in responses begin with ${PublicUrl.defaultAddress}: set embed's public_url option to the address at which callers reach the handler, including the path.`
