import { useState } from "preact/hooks"
import { Failure } from "../parts/basics.tsx"
import { signIn, signInError } from "../state/session.ts"

/** The sign-in page, which asks for a key. */
export const SignIn = () => {
  const [key, setKey] = useState("")
  const [busy, setBusy] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    setBusy(true)
    signIn(key).finally(() => setBusy(false))
  }
  return (
    <section class="page narrow">
      <h1 tabIndex={-1}>Sign in</h1>
      <form class="card stack" onSubmit={submit}>
        <label for="key">Server key or operator token</label>
        <input
          id="key"
          name="key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          placeholder="sandbox_server_…"
          value={key}
          onInput={(event) => setKey(event.currentTarget.value)}
          aria-describedby="about-key"
        />
        <p class="minor" id="about-key">
          The key stays in this tab until you close it or sign out. It is sent to this host only.
        </p>
        <button type="submit" class="main" disabled={busy || key.trim() === ""}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
        <Failure error={signInError.value} />
      </form>
      <p class="minor">
        <code>quotewire dev</code> prints a link that signs you in. For other hosts, <code>quotewire keys create</code>{" "}
        makes a key.
      </p>
    </section>
  )
}
