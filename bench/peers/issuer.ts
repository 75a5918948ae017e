import { createServer } from "node:http"
import { OAuth } from "@quotewire/http"
import { Result } from "effect"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { bind } from "../bind.ts"

const issuer = "https://login.example"

/**
 * Starts a token issuer that serves its keys on this machine. Returns the settings for a host that accepts its tokens,
 * and a token.
 */
export const make = async () => {
  const { privateKey, publicKey } = await generateKeyPair("ES256")
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" }] })
  const server = createServer((_request, response) => response.end(keys))
  const port = await bind(server)
  const oauth = Result.getOrThrow(
    OAuth.check({
      issuer,
      environment: "sandbox",
      organizations: { claim: "org_id" },
      scopes: { quotes: "server" },
      jwks_url: `http://127.0.0.1:${port}/keys`
    })
  )
  const sign = (org_id: string, audience: string): Promise<string> =>
    new SignJWT({ org_id, scope: "quotes" })
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .setIssuer(issuer)
      .setSubject("a-person")
      .setAudience(audience)
      .setExpirationTime("1h")
      .sign(privateKey)
  return { oauth, sign }
}
