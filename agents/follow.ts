/*
 * The agent loop for clients that have none: asks the model what to call next, and calls it. It imports only Node,
 * because it runs with every version of every client.
 */

interface Listed {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema?: unknown
}

type Turn =
  | { readonly _tag: "call"; readonly call: { readonly name: string; readonly args: Record<string, unknown> } }
  | { readonly _tag: "text"; readonly text: string }

/** What a program receives: the addresses of the host's endpoint and of the model, and the prompt. */
export const world = {
  mcp: process.env.MCP_URL ?? "",
  model: process.env.MODEL_URL ?? "",
  prompt: "Get car insurance quotes in Texas, and show me one of them."
}

/** Runs the loop with the tools that a client lists. `call` returns what a model would read of the result. */
export const follow = async (
  tools: ReadonlyArray<Listed>,
  call: (name: string, args: Record<string, unknown>) => Promise<unknown>
): Promise<string> => {
  const results: Array<string> = []
  for (;;) {
    const response = await fetch(`${world.model}/plain`, { method: "POST", body: JSON.stringify({ tools, results }) })
    if (!response.ok) throw new Error(await response.text())
    // Not validated: our own model wrote it.
    const turn: Turn = await response.json()
    if (turn._tag === "text") return turn.text
    results.push(textOf(await call(turn.call.name, turn.call.args)))
  }
}

/** The texts of an MCP result; plain text stays as is. */
export const textOf = (result: unknown): string => {
  if (typeof result === "string") return result
  const { content = [] }: { content?: ReadonlyArray<{ readonly text?: string }> } = Object(result)
  return content.map(({ text = "" }) => text).join("\n")
}
