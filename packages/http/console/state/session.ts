import { computed, signal } from "@preact/signals"
import { connect, type RemoteClient } from "../../src/client/index.ts"
import { keptKey } from "../../src/documents/Scalar.ts"
import { hostUrl } from "./host.ts"
import { type Call, withToken } from "./operatorCalls.ts"

/** Who uses the console, in this tab only: an integrator with a server key. */
export interface Session {
  readonly _tag: "integrator"
  readonly client: RemoteClient
  readonly environment: "sandbox" | "live"
}

/** An operator, with a token. */
export interface OperatorSession {
  readonly _tag: "operator"
  readonly call: Call
}

const current = signal<Session | OperatorSession | null>(null)

/** The session; null until the user signs in. */
export const session = computed(() => current.value)

/** Why the last sign-in failed; null if it did not. */
export const signInError = signal<string | null>(null)

const isOperatorToken = (key: string): boolean => key.startsWith("operator_")

const open = (key: string): Session => ({
  _tag: "integrator",
  client: connect({ base_url: hostUrl, key, max_retries: 2 }),
  environment: key.startsWith("live_") ? "live" : "sandbox"
})

/** Opens a session, and checks whether the host accepts it. */
const tried = async (key: string): Promise<Session | OperatorSession> => {
  if (isOperatorToken(key)) {
    const call = withToken(key)
    await call("find_quote_requests", { limit: 1 })
    return { _tag: "operator", call }
  }
  const opened = open(key)
  await opened.client.list_quote_requests({ limit: 1 })
  return opened
}

/** Signs in with a server key or an operator's token, if the host accepts it. */
export const signIn = async (given: string): Promise<void> => {
  signInError.value = null
  const key = given.trim()
  try {
    const opened = await tried(key)
    sessionStorage.setItem(keptKey, key)
    current.value = opened
  } catch (error) {
    signInError.value = error instanceof Error ? error.message : String(error)
  }
}

/** Forgets the key. */
export const signOut = (): void => {
  sessionStorage.removeItem(keptKey)
  current.value = null
}

/** Exchanges a link for a key. A link works once. */
const redeem = async (link: string): Promise<void> => {
  const answer = await fetch(`${hostUrl}/console/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ link })
  })
  const body: unknown = await answer.json().catch(() => null)
  const key = typeof body === "object" && body !== null && "key" in body ? body.key : null
  if (typeof key === "string") await signIn(key)
  else signInError.value = "This link has been used or has expired. Sign in with a key instead."
}

/** Signs in with the link code in the address, or with the key that this tab has stored. */
export const begin = async (): Promise<void> => {
  const [, link] = /^#link=([\w-]+)$/.exec(location.hash) ?? []
  const kept = sessionStorage.getItem(keptKey)
  if (link !== undefined) {
    // Removes the code from the address before anything else happens, so that nobody copies it from there.
    history.replaceState(null, "", location.pathname)
    if (kept === null) return redeem(link).catch(() => {})
  }
  if (kept !== null) current.value = isOperatorToken(kept) ? { _tag: "operator", call: withToken(kept) } : open(kept)
}

/** The options of a call with its own idempotency key, so that a retry does not act twice. */
export const idempotently = () => ({ idempotency_key: crypto.randomUUID() })
