import { assert, layer } from "@effect/vitest"
import {
  Client,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport,
  UnauthorizedError
} from "@modelcontextprotocol/client"
import {
  discoverOAuthProtectedResourceMetadata,
  UnauthorizedError as OlderUnauthorizedError
} from "@modelcontextprotocol/sdk/client/auth.js"
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { embed } from "@quotewire/core"
import { nodeHandler, protectedResource } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer } from "effect"
import express from "express"
import { serving } from "../../packages/http/test/handlers/support.ts"
import { methodsOf } from "./clients.ts"
import * as OidcIssuer from "./oidcIssuer.ts"

/**
 * A service mounted below a path in another app, and a second one next to it. Both accept tokens from the same issuer.
 */
class App extends Context.Service<App, { readonly url: string; readonly issuer: OidcIssuer.OidcIssuer }>()(
  "test/App"
) {}

const app = Layer.effect(
  App,
  Effect.gen(function* () {
    const issuer = yield* OidcIssuer.make
    const site = express()
    const url = yield* serving(site)
    const quotewire = embed({ storage: MemoryStorage.layer, public_url: `${url}/insurance` })
    yield* Effect.addFinalizer(() => Effect.promise(() => quotewire.close()))
    const { id: organization_id } = yield* Effect.promise(() => quotewire.createOrganization("Agents"))
    const oauth = {
      issuer: issuer.issuer,
      environment: "sandbox",
      organization_id,
      scopes: { quotes: "platform", "quotes:all": "server" }
    } as const
    site.use("/insurance", nodeHandler(quotewire, { mcp, oauth }))
    site.use("/other", nodeHandler(quotewire, { mcp, oauth, base_url: `${url}/other` }))
    const { metadata, path } = protectedResource({ oauth, base_url: `${url}/insurance` })
    site.get(path, (_request, response) => void response.json(metadata))
    return { issuer, url }
  })
)

/** What a program stores about a signed-in person, in memory. */
class SignIn {
  readonly redirectUrl = OidcIssuer.redirectUrl
  readonly clientMetadata = {
    client_name: "an agent",
    redirect_uris: [OidcIssuer.redirectUrl],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none"
  }
  authorization_url: URL | null = null
  private client: { client_id: string } | undefined
  private kept: { access_token: string; token_type: string } | undefined
  private verifier = ""
  private discovered: OAuthDiscoveryState | undefined

  /** Without a client, the program registers itself. */
  constructor(client?: { client_id: string }) {
    this.client = client
  }

  clientInformation() {
    return this.client
  }
  saveClientInformation(client: { client_id: string }) {
    this.client = client
  }
  tokens() {
    return this.kept
  }
  saveTokens(tokens: { access_token: string; token_type: string }) {
    this.kept = tokens
  }
  redirectToAuthorization(url: URL) {
    this.authorization_url = url
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
  }
  codeVerifier() {
    return this.verifier
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.discovered = state
  }
  discoveryState() {
    return this.discovered
  }
}

/** One of the official clients, as a test uses it. */
interface Connection {
  readonly connect: () => Promise<void>
  readonly tools: () => Promise<ReadonlyArray<string>>
  readonly call: (name: string, args?: Record<string, unknown>) => Promise<unknown>
  readonly finish: (callback: URL) => Promise<void>
  readonly isUnauthorized: (error: unknown) => boolean
}

const newer = (url: URL, authProvider: SignIn): Connection => {
  const client = new Client({ name: "an-agent", version: "1" })
  let transport = new StreamableHTTPClientTransport(url, { authProvider })
  return {
    ...methodsOf(client),
    connect: () => client.connect(transport),
    finish: async (callback) => {
      await transport.finishAuth(callback.searchParams)
      await client.close()
      transport = new StreamableHTTPClientTransport(url, { authProvider })
    },
    isUnauthorized: (error) => error instanceof UnauthorizedError
  }
}

const older = (url: URL, authProvider: SignIn): Connection => {
  const client = new OlderClient({ name: "an-agent", version: "1" })
  let transport = new OlderTransport(url, { authProvider })
  return {
    ...methodsOf(client),
    connect: () => client.connect(transport),
    finish: async (callback) => {
      await transport.finishAuth(callback.searchParams.get("code") ?? "")
      await client.close()
      transport = new OlderTransport(url, { authProvider })
    },
    isUnauthorized: (error) => error instanceof OlderUnauthorizedError
  }
}

/** Runs an action that requires sign-in: signs in when the client asks for sign-in, and retries. */
const signedIn = async <A>(
  { finish, isUnauthorized }: Connection,
  person: SignIn,
  { signIn }: OidcIssuer.OidcIssuer,
  act: () => Promise<A>
): Promise<URL> => {
  const refused = await act().then(
    () => null,
    (error: unknown) => error
  )
  assert.isTrue(isUnauthorized(refused), String(refused))
  const asked = person.authorization_url
  if (asked === null) return assert.fail("The client has not asked the person to sign in")
  await finish(await signIn(asked))
  return asked
}

layer(app)("OAuth for MCP clients", (it) => {
  for (const [name, open] of [
    ["2.4.0", newer],
    ["1.32.2", older]
  ] as const) {
    it.effect(`a person can sign in with the self-registering official client ${name}`, () =>
      Effect.gen(function* () {
        const { issuer, url } = yield* App
        const person = new SignIn()
        const connection = open(new URL(`${url}/insurance/v1/mcp`), person)
        yield* Effect.promise(async () => {
          const asked = await signedIn(connection, person, issuer, connection.connect)
          assert.strictEqual(asked.searchParams.get("scope"), "quotes")
          assert.strictEqual(asked.searchParams.get("resource"), `${url}/insurance/v1/mcp`)
          await connection.connect()
          assert.notInclude(await connection.tools(), "list_quote_requests")
          assert.include(await connection.call("get_capabilities", { line: "renters" }), { isError: false })
        })
      })
    )

    it.effect(`a person signs in again with the official client ${name} when a tool needs another scope`, () =>
      Effect.gen(function* () {
        const { issuer, url } = yield* App
        const person = new SignIn({ client_id: OidcIssuer.registeredClient })
        const connection = open(new URL(`${url}/insurance/v1/mcp`), person)
        yield* Effect.promise(async () => {
          await signedIn(connection, person, issuer, connection.connect)
          await connection.connect()
          const asked = await signedIn(connection, person, issuer, () => connection.call("list_quote_requests"))
          assert.include(asked.searchParams.get("scope"), "quotes:all")
          await connection.connect()
          assert.include(await connection.tools(), "list_quote_requests")
          assert.deepNestedInclude(await connection.call("list_quote_requests"), {
            "structuredContent.quote_requests": []
          })
        })
      })
    )
  }

  it.effect("a token cannot be used for another resource of the same issuer", () =>
    Effect.gen(function* () {
      const { issuer, url } = yield* App
      const person = new SignIn()
      const connection = newer(new URL(`${url}/insurance/v1/mcp`), person)
      const statuses = yield* Effect.promise(async () => {
        await signedIn(connection, person, issuer, connection.connect)
        const authorization = `Bearer ${person.tokens()?.access_token}`
        return Promise.all(
          ["insurance", "other"].map(async (mount) => {
            const headers = { authorization, "content-type": "application/json" }
            const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
            return (await fetch(`${url}/${mount}/v1/mcp`, { method: "POST", headers, body })).status
          })
        )
      })
      assert.deepStrictEqual(statuses, [200, 401])
    })
  )

  it.effect("a client finds the issuer even if it first looks for metadata at the host's root", () =>
    Effect.gen(function* () {
      const { issuer, url } = yield* App
      const found = yield* Effect.promise(() => discoverOAuthProtectedResourceMetadata(`${url}/insurance/v1/mcp`))
      assert.deepStrictEqual(
        [found.resource, found.authorization_servers],
        [`${url}/insurance/v1/mcp`, [issuer.issuer]]
      )
    })
  )
})
