import { text } from "node:stream/consumers"

/*
 * A Claude Code hook that answers forms in place of a person: it agrees to the disclosure, and closes all other forms.
 */
const { requested_schema } = JSON.parse(await text(process.stdin))
if (requested_schema?.properties?.agree !== undefined) {
  const answer = { hookEventName: "Elicitation", action: "accept", content: { agree: true } }
  console.log(JSON.stringify({ hookSpecificOutput: answer }))
}
