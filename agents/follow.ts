/*
 * For clients that know no model: asks the model what to call next, and calls it. It uses nothing but Node, because it runs
 * beside every version of every client.
 */

interface Listed {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema?: unknown
}

type Turn =
  | { readonly _tag: "call"; readonly call: { readonly name: string; readonly args: Record<string, unknown> } }
  | { readonly _tag: "text"; readonly text: string }

/** The address of the host's endpoint and of the model, and what a person asks. */
export const world = {
  mcp: process.env.MCP_URL ?? "",
  model: process.env.MODEL_URL ?? "",
  prompt: "Get car insurance quotes in Texas, and show me one of them."
}

/** Follows the script with tools as a client lists them. `call` gives what a model would read of the result. */
export const follow = async (
  tools: ReadonlyArray<Listed>,
  call: (name: string, args: Record<string, unknown>) => Promise<unknown>
): Promise<string> => {
  const results: Array<string> = []
  for (;;) {
    const response = await fetch(`${world.model}/plain`, { method: "POST", body: JSON.stringify({ tools, results }) })
    if (!response.ok) throw new Error(await response.text())
    const turn: Turn = await response.json()
    if (turn._tag === "text") return turn.text
    results.push(textOf(await call(turn.call.name, turn.call.args)))
  }
}

/** The texts of a result of MCP; a text as it is. */
export const textOf = (result: unknown): string => {
  if (typeof result === "string") return result
  const { content = [] }: { content?: ReadonlyArray<{ readonly text?: string }> } = Object(result)
  return content.map(({ text = "" }) => text).join("\n")
}
