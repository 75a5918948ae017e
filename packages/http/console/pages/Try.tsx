import { useState } from "preact/hooks"
import { Copy, Failure, Show } from "../parts/basics.tsx"
import { bump } from "../state/clock.ts"
import { hostUrl } from "../state/host.ts"
import { useAction, useOnce } from "../state/loading.ts"
import { go } from "../state/route.ts"
import type { Session } from "../state/session.ts"
import { applications } from "../words/examples.ts"
import { title, words } from "../words/format.ts"

/** Starts a request in the sandbox. The user chooses an insurance line and the outcome to play, and edits the facts. */
export const Try = ({ session }: { readonly session: Session }) => {
  const scenarios = useOnce(
    "scenarios",
    async (signal) => (await session.client.list_sandbox_scenarios({}, { signal })).scenarios
  )
  return (
    <section class="page narrow">
      <h1 tabIndex={-1}>Try an outcome</h1>
      <p>
        The sandbox's carriers are fictional, and so are their prices. Choose what should happen, start, and move the
        clock.
      </p>
      <Show of={scenarios}>{(all) => <Start session={session} scenarios={all} />}</Show>
    </section>
  )
}

interface Scenario {
  readonly name: string
  readonly description: string
  readonly lines: ReadonlyArray<string>
}

const Start = ({ scenarios, session }: { readonly session: Session; readonly scenarios: ReadonlyArray<Scenario> }) => {
  const lines = [...new Set(scenarios.flatMap((one) => one.lines))]
  const [line, setLine] = useState(lines.includes("renters") ? "renters" : (lines[0] ?? ""))
  const [scenario, setScenario] = useState("quotes_ready")
  const [facts, setFacts] = useState(written(line))
  const { busy, error, run } = useAction()
  const playable = scenarios.filter((one) => one.lines.includes(line))
  const chosen = playable.find(({ name }) => name === scenario)
  const body = bodyOf(line, chosen?.name ?? null, facts)
  const start = (event: Event) => {
    event.preventDefault()
    run(async () => {
      if (body === null) throw new Error("The facts are not JSON.")
      const { id } = await session.client.start_quote_request(JSON.parse(JSON.stringify(body)))
      bump.value++
      go(["requests", id])
    })
  }
  return (
    <form class="card stack" onSubmit={start}>
      <label for="line">Line</label>
      <select
        id="line"
        value={line}
        onChange={(event) => {
          setLine(event.currentTarget.value)
          setFacts(written(event.currentTarget.value))
        }}
      >
        {lines.map((one) => (
          <option key={one} value={one}>
            {title(one)}
          </option>
        ))}
      </select>
      <label for="scenario">What should happen</label>
      <select
        id="scenario"
        value={chosen?.name ?? ""}
        onChange={(event) => setScenario(event.currentTarget.value)}
        aria-describedby="about-scenario"
      >
        {playable.map(({ name }) => (
          <option key={name} value={name}>
            {words(name)}
          </option>
        ))}
      </select>
      <p class="minor" id="about-scenario">
        {chosen?.description ?? ""}
      </p>
      <label for="facts">Facts</label>
      <textarea
        id="facts"
        rows={10}
        spellcheck={false}
        value={facts}
        onInput={(event) => setFacts(event.currentTarget.value)}
      />
      <div class="row">
        <button type="submit" class="main" disabled={busy}>
          {busy ? "Starting…" : "Start"}
        </button>
        {body !== null && <Copies body={body} />}
      </div>
      <Failure error={error} />
    </form>
  )
}

const written = (line: string): string => JSON.stringify(applications[line] ?? {}, null, 2)

/** The body of the call that starts the request; null if the facts are not JSON. */
const bodyOf = (line: string, scenario: string | null, facts: string): object | null => {
  try {
    return {
      line,
      request_key: crypto.randomUUID(),
      consent_receipt_id: "receipt-console",
      ...(scenario !== null && { scenario }),
      application: JSON.parse(facts)
    }
  } catch {
    return null
  }
}

/** Shows the call as code to copy. The code reads the key from an environment variable. */
const Copies = ({ body }: { readonly body: object }) => {
  const json = JSON.stringify(body, null, 2)
  const quoted = json.replaceAll("'", "'\\''")
  const curl = `curl -s '${hostUrl}/v1/quote-requests' -H "Authorization: Bearer $QUOTEWIRE_API_KEY" -H 'Content-Type: application/json' -d '${quoted}'`
  const typescript = `const client = connect({ base_url: "${hostUrl}", key: process.env.QUOTEWIRE_API_KEY ?? "" })\nawait client.start_quote_request(${json})`
  const mcp = JSON.stringify(
    { method: "tools/call", params: { name: "start_quote_request", arguments: body } },
    null,
    2
  )
  return (
    <>
      <Copy label="Copy as curl" text={curl} />
      <Copy label="as TypeScript" text={typescript} />
      <Copy label="as MCP" text={mcp} />
    </>
  )
}
