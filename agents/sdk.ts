import { follow } from "./follow.ts"

/** What all versions of the client have in common. */
interface Sdk {
  readonly listTools: () => Promise<{
    readonly tools: ReadonlyArray<{ readonly name: string; readonly description?: string | undefined }>
  }>
  readonly callTool: (call: { readonly name: string; readonly arguments: Record<string, unknown> }) => Promise<unknown>
  readonly close: () => Promise<void>
}

/** The journey with a client of `@modelcontextprotocol/sdk`, in any version. */
export const journey = async (client: Sdk): Promise<void> => {
  const { tools } = await client.listTools()
  console.log(await follow(tools, (name, args) => client.callTool({ name, arguments: args })))
  await client.close()
}
