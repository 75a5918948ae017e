import { Argument } from "@quotewire/core"
import { Effect, Result, Schema } from "effect"
import * as Addresses from "../host/Addresses.ts"
import type { Answer } from "../host/Answer.ts"
import * as Cors from "../host/Cors.ts"
import * as Route from "../host/Route.ts"
import * as OAuthOptions from "./OAuthOptions.ts"

/** The well-known path of the metadata (RFC 9728). */
const wellKnown = "/.well-known/oauth-protected-resource"

/** Protected resource metadata (RFC 9728), in which clients find the issuer and its scopes. */
export interface Metadata {
  /** The agent endpoint's address, for which tokens are issued. */
  readonly resource: string
  readonly authorization_servers: ReadonlyArray<string>
  readonly scopes_supported?: ReadonlyArray<string>
  readonly bearer_methods_supported: ReadonlyArray<string>
  readonly resource_name: string
}

/** The metadata of the endpoint at `path` below `baseUrl`. */
export const metadataOf = (
  { issuer, scopes }: Pick<OAuthOptions.OAuthSettings, "issuer" | "scopes">,
  baseUrl: string,
  path: string
): Metadata => ({
  resource: baseUrl + path,
  authorization_servers: [issuer],
  ...(scopes !== null && { scopes_supported: Object.keys(scopes) }),
  bearer_methods_supported: ["header"],
  resource_name: "Insurance quotes"
})

/** The metadata's address in challenges. It is below `baseUrl`, so the host itself serves it. */
export const addressOf = (baseUrl: string): string => `${baseUrl}${wellKnown}`

/** The path that clients try without a challenge: the well-known path followed by the endpoint's path (RFC 9728). */
export const pathOf = (baseUrl: string, path: string): string => `${wellKnown}${Addresses.pathOf(baseUrl)}${path}`

/**
 * The routes of the metadata. They are public, and any web page can read them. One route includes the path of
 * `baseUrl`; the other does not, in case a proxy removes that path.
 */
export const routes = (metadata: Metadata, baseUrl: string, path: string): ReadonlyArray<Route.Route> => {
  const body = JSON.stringify(metadata)
  const headers = {
    "content-type": "application/json",
    "cache-control": "public, max-age=300",
    "access-control-allow-origin": "*"
  }
  const answer = Effect.succeed<Answer>({ status: 200, headers, body })
  // Clients in browsers send `Mcp-Protocol-Version`, so the browser sends a preflight request first.
  const permitted = Effect.succeed<Answer>({
    status: 204,
    headers: { ...Cors.permitting("GET", "Mcp-Protocol-Version"), "access-control-allow-origin": "*" },
    body: null
  })
  return Array.from(new Set([wellKnown, wellKnown + path, pathOf(baseUrl, path)])).flatMap((routePath) => [
    Route.make("GET", routePath, () => answer),
    Route.make("OPTIONS", routePath, () => permitted)
  ])
}

/** The metadata for a program that mounts the service below a path, and the path at which the program serves it. */
export interface ProtectedResource {
  /** The path at the root of the program's site, such as `/.well-known/oauth-protected-resource/insurance/v1/mcp`. */
  readonly path: string
  /** The JSON to respond with. */
  readonly metadata: Metadata
}

/** The path of the agent endpoint in `@quotewire/mcp`. */
const mcpPath = "/v1/mcp"

const checked = Argument.checker(
  "protectedResource",
  Schema.Struct({ oauth: Argument.AnyObject, base_url: Schema.String })
)

/**
 * Creates the metadata to serve at the root of your site if you mount the service below a path. Clients that sign in
 * before their first call look for the metadata there. All other clients find it through the challenge.
 *
 * `base_url` is the handler's `base_url`, or the service's `public_url`. A wrong option throws an error that names the
 * option.
 *
 * @example
 * const { path, metadata } = protectedResource({ oauth, base_url: "https://shop.example/insurance" })
 * app.get(path, (request, response) => response.json(metadata))
 */
export const protectedResource = (options: {
  readonly oauth: OAuthOptions.OAuthOptions
  readonly base_url: string
}): ProtectedResource => {
  const { oauth, ...addresses } = checked(options)
  const { place, settings } = Result.getOrThrowWith(
    Argument.every({ settings: OAuthOptions.read(oauth), place: Addresses.read({ base_url: addresses.base_url }) }),
    (mistakes) => Argument.mistaken("protectedResource", mistakes)
  )
  const { base_url } = place
  return { path: pathOf(base_url, mcpPath), metadata: metadataOf(settings, base_url, mcpPath) }
}
