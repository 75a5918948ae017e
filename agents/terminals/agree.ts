import { text } from "node:stream/consumers"

/*
 * A hook of Claude Code that answers forms in place of a person: it agrees to the disclosure, and leaves other forms closed.
 */
const { requested_schema } = JSON.parse(await text(process.stdin))
if (requested_schema?.properties?.agree !== undefined) {
  const answer = { hookEventName: "Elicitation", action: "accept", content: { agree: true } }
  console.log(JSON.stringify({ hookSpecificOutput: answer }))
}
