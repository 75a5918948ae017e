import { Effect } from "effect"
import { layer } from "../packages/mcp/test/support/agents.ts"
import { measured } from "../packages/mcp/test/support/journey.ts"

/*
 * Prints how many tokens (of four characters) a model reads from the agent endpoint: the lists of tools, and the
 * results of a typical series of calls, up to one quote. `structured` counts structuredContent, and `content` the texts
 * of the same result. Client programs show models only one of the two.
 */

const { journey, lists } = await Effect.runPromise(Effect.provide(measured, layer()))
const sum = (key: "structured" | "content") => journey.reduce((total, call) => total + call[key], 0)
console.table(lists)
console.table([...journey, { tool: "all", structured: sum("structured"), content: sum("content") }])
