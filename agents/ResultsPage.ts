import * as Report from "./Report.ts"
import type { Run } from "./Run.ts"

/** A result on the page: its client, and its index in the journey. */
interface Shown {
  readonly client: string
  /** The index of the result in the journey; negative counts from the end. */
  readonly at: number
  readonly title: string
}

/** Ten results, in the order of the page. */
export const shown: ReadonlyArray<Shown> = [
  { client: "claude-code", at: 0, title: "Claude Code: `get_capabilities` for car insurance in Texas" },
  { client: "claude-code", at: 1, title: "Claude Code: `start_quote_request` without a required fact" },
  { client: "claude-code", at: 2, title: "Claude Code: `start_quote_request` with all required facts" },
  { client: "claude-code", at: -2, title: "Claude Code: `get_quote_request` after all carriers have answered" },
  { client: "claude-code", at: -1, title: "Claude Code: `get_quote`" },
  { client: "codex", at: 1, title: "Codex: `start_quote_request` without a required fact" },
  { client: "codex", at: -2, title: "Codex: `get_quote_request` after all carriers have answered" },
  { client: "genkit-1", at: 1, title: "genkit: `start_quote_request` without a required fact" },
  { client: "genkit-1", at: 2, title: "genkit: `start_quote_request` with all required facts" },
  { client: "genkit-1", at: -1, title: "genkit: `get_quote`" }
]

/** How many characters of a result the page shows, in lines of at most 110. */
const mostCharacters = 1_200
const line = /.{1,110}/g

/** The results as Markdown. */
export const page = (runs: ReadonlyArray<Run>): string =>
  shown
    .map(({ at, client, title }) => {
      const run = runs.find((one) => one.client.id === client)
      const result = run?.heard.conversation?.results.at(at)
      if (result === undefined) throw new Error(`${client} has no result ${at}. Run all clients.`)
      const text = Report.normalized(result)
      const rest = text.length - mostCharacters
      const more = rest > 0 ? `\n\nAnd ${rest.toLocaleString("en-US")} more characters.` : ""
      const lines = text.slice(0, mostCharacters).trimEnd().replaceAll(line, "$&\n").replaceAll("\n\n", "\n").trimEnd()
      return `### ${title}\n\n\`\`\`text\n${lines}\n\`\`\`${more}`
    })
    .join("\n\n")
