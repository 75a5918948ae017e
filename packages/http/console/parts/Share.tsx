import { useState } from "preact/hooks"
import { useAction } from "../state/loading.ts"
import { addressOf } from "../state/shared.ts"
import { count } from "../words/format.ts"
import { Copy, Failure, Time } from "./basics.tsx"

interface Link {
  readonly token: string
  readonly expires_at: string
}

const choices = [1, 7, 30]

/** Creates a link that shows this request or endpoint to a partner without a key, until it expires. */
export const Share = ({
  id,
  make
}: {
  readonly id: string
  readonly make: (expires_in_days: number) => Promise<Link>
}) => {
  const [link, setLink] = useState<Link | null>(null)
  const { busy, error, run } = useAction()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    const days = Number(new FormData(form).get("days"))
    run(async () => setLink(await make(days)))
  }
  return (
    <details class="card">
      <summary>Share with a partner</summary>
      <form class="stack" onSubmit={submit}>
        <p class="minor">
          Anyone with the link can read this page without a key, but no other page and no facts about the person.
        </p>
        <div class="row">
          <label for="days">Expires after</label>
          <select id="days" name="days" defaultValue="7">
            {choices.map((days) => (
              <option key={days} value={days}>
                {count(days, "day")}
              </option>
            ))}
          </select>
          <button type="submit" disabled={busy}>
            {busy ? "Creating…" : "Create a link"}
          </button>
        </div>
        <Failure error={error} />
      </form>
      {link !== null && (
        <p class="row" role="status">
          <code class="whole">{addressOf(id, link.token)}</code>
          <Copy label="Copy the link" text={addressOf(id, link.token)} />
          <span class="minor">
            Shown only now. The link expires at <Time at={link.expires_at} />.
          </span>
        </p>
      )}
    </details>
  )
}
