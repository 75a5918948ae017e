import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { exportJWK, generateKeyPair } from "jose"
import { Provider } from "oidc-provider"

/** A running issuer. */
export interface OidcIssuer {
  readonly issuer: string
  /**
   * Plays the person's browser: follows an authorization request until it redirects to the client, and returns that
   * address.
   */
  readonly signIn: (authorization_url: URL) => Promise<URL>
}

/** The scopes that this issuer grants for any resource. */
export const scopes = "quotes quotes:all"

/** The redirect address of this issuer. Nothing listens there: `signIn` stops before it. */
export const redirectUrl = "http://127.0.0.1:9/callback"

/** A preregistered client that may request every scope. */
export const registeredClient = "an-agent"

/** Starts an issuer on a free port, with client registration. Everyone is signed in as the same person and agrees. */
export const make = Effect.acquireRelease(
  Effect.promise(async () => {
    let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {}
    const server = createServer((request, response) => handle(request, response))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const bound = server.address()
    const issuer = `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
    const { privateKey } = await generateKeyPair("RS256", { extractable: true })
    const provider = providerOf(issuer, { ...(await exportJWK(privateKey)), kid: "k1", alg: "RS256", use: "sig" })
    const answer = provider.callback()
    handle = (request, response) => {
      if (request.url?.startsWith("/interaction/")) void agree(provider, request, response)
      else void answer(request, response)
    }
    return { server, oidc: { issuer, signIn } satisfies OidcIssuer }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
).pipe(Effect.map(({ oidc }) => oidc))

const providerOf = (issuer: string, key: object) =>
  new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [
      {
        client_id: registeredClient,
        redirect_uris: [redirectUrl],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code"],
        response_types: ["code"]
      }
    ],
    cookies: { keys: ["a key for tests"] },
    scopes: ["openid", ...scopes.split(" ")],
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: { AccessToken: 3_600, Interaction: 60, Session: 600, Grant: 600 },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: scopes,
          audience: resource,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } }
        })
      }
    }
  })

/** Signs the person in, and grants everything that the client requests. */
const agree = async (provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { params } = await provider.interactionDetails(request, response)
  const accountId = "user-1"
  const grant = new provider.Grant({ accountId, clientId: String(params.client_id) })
  const wanted = String(params.scope ?? "")
  grant.addOIDCScope(wanted)
  for (const resource of [params.resource].flat()) grant.addResourceScope(String(resource), wanted)
  const result = { login: { accountId }, consent: { grantId: await grant.save() } }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
}

const signIn = async (authorizationUrl: URL): Promise<URL> => {
  const cookies = new Map<string, string>()
  let at = authorizationUrl
  for (let step = 0; step < 10; step++) {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ")
    const response = await fetch(at, { redirect: "manual", headers: { cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get("location")
    if (location === null) throw new Error(`The issuer returned ${response.status}: ${await response.text()}`)
    at = new URL(location, at)
    if (at.href.startsWith(redirectUrl)) return at
  }
  throw new Error("The issuer sent the browser around")
}
