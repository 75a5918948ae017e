import { computed, signal } from "@preact/signals"
import { type Client, connect } from "../../src/client/index.ts"
import { keptKey } from "../../src/documents/Scalar.ts"
import { hostUrl } from "./host.ts"
import { type Call, withToken } from "./operatorCalls.ts"

/** A session of an integrator with a server key. It exists in this tab only. */
export interface Session {
  readonly _tag: "integrator"
  readonly client: Client
  readonly environment: "sandbox" | "live"
}

/** A session of an operator with a token. */
export interface OperatorSession {
  readonly _tag: "operator"
  readonly call: Call
}

const current = signal<Session | OperatorSession | null>(null)

/** The current session; null until the user signs in. */
export const session = computed(() => current.value)

/** Why the last sign-in failed; null if it succeeded. */
export const signInError = signal<string | null>(null)

const isOperatorToken = (key: string): boolean => key.startsWith("operator_")

const open = (key: string): Session => ({
  _tag: "integrator",
  client: connect({ base_url: hostUrl, key, max_retries: 2 }),
  environment: key.startsWith("live_") ? "live" : "sandbox"
})

/** Opens a session for a key or a token. Throws if the host refuses the key or token. */
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

/** Signs in with a server key or an operator's token. If the host refuses the key or token, sets `signInError`. */
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

/** Signs out: removes the stored key and the session. */
export const signOut = (): void => {
  sessionStorage.removeItem(keptKey)
  current.value = null
}

/** Exchanges a sign-in link's code for a key. A link works once. */
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

/** Signs in at startup, with the link code in the address or the key that this tab has stored. */
export const begin = async (): Promise<void> => {
  const [, link] = /^#link=([\w-]+)$/.exec(location.hash) ?? []
  const kept = sessionStorage.getItem(keptKey)
  if (link !== undefined) {
    // Removes the code from the address first, so that nobody copies it from there.
    history.replaceState(null, "", location.pathname)
    if (kept === null) return redeem(link).catch(() => {})
  }
  if (kept !== null) current.value = isOperatorToken(kept) ? { _tag: "operator", call: withToken(kept) } : open(kept)
}

/** Options that give a call its own idempotency key, so that retries do not repeat its effect. */
export const idempotently = () => ({ idempotency_key: crypto.randomUUID() })
