import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import {
  AppBridge,
  buildAllowAttribute,
  getToolUiResourceUri,
  type McpUiHostContext,
  type McpUiResourceMeta,
  type McpUiToolResultNotification,
  PostMessageTransport,
  RESOURCE_MIME_TYPE
} from "@modelcontextprotocol/ext-apps/app-bridge"

/*
 * The script of an agent program that is a web page and shows tools' pages, as MCP Apps describes: a tool's page runs
 * in a frame within a frame of a different origin.
 */

type ToolResult = McpUiToolResultNotification["params"]

/** What the program tells a page about itself. */
type Context = Pick<McpUiHostContext, "theme" | "timeZone">

/** How the program shows a page. */
export interface Showing {
  readonly endpoint: string
  readonly key: string
  /** The address of the frame around the page, on a different origin. */
  readonly sandbox: string
  readonly tool: string
  readonly context: Context
  /** Whether the program opens links. */
  readonly opensLinks: boolean
}

/** The addresses that the program was asked to open. */
const opened: Array<string> = []
let bridge: AppBridge | null = null
let client: Client | null = null
let frame: HTMLIFrameElement | null = null

const connected = async ({ endpoint, key }: Showing): Promise<Client> => {
  const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } }
  const made = new Client({ name: "a-program", version: "1" }, { capabilities: { extensions } })
  await made.connect(
    new StreamableHTTPClientTransport(new URL(endpoint), {
      requestInit: { headers: { authorization: `Bearer ${key}` } }
    })
  )
  return made
}

const pageOf = async (caller: Client, tool: string) => {
  const listed = (await caller.listTools()).tools.find(({ name }) => name === tool)
  const uri = listed === undefined ? undefined : getToolUiResourceUri(listed)
  if (uri === undefined) throw new Error(`${tool} has no page`)
  const [content] = (await caller.readResource({ uri })).contents
  if (content === undefined || !("text" in content)) throw new Error(`${uri} is no text`)
  const meta: { readonly ui?: McpUiResourceMeta } = content._meta ?? {}
  return { html: content.text, meta: meta.ui ?? {} }
}

/** Shows the page of a tool, and waits until it is ready for results. */
const open = async (showing: Showing): Promise<void> => {
  frame?.remove()
  await bridge?.close()
  await client?.close()
  opened.length = 0
  const mcp = await connected(showing)
  client = mcp
  const { html, meta } = await pageOf(mcp, showing.tool)
  const around = document.body.appendChild(document.createElement("iframe"))
  frame = around
  around.sandbox.add("allow-scripts", "allow-same-origin")
  around.allow = buildAllowAttribute(meta.permissions)
  const capabilities = showing.opensLinks ? { openLinks: {} } : {}
  const host = new AppBridge(mcp, { name: "a-program", version: "1" }, capabilities, { hostContext: showing.context })
  bridge = host
  host.onopenlink = async ({ url }) => {
    opened.push(url)
    return { isError: !showing.opensLinks }
  }
  host.onsizechange = ({ height }) => {
    if (height !== undefined) around.style.height = `${height}px`
  }
  const ready = new Promise<void>((resolve) => {
    host.onsandboxready = () =>
      void host.sendSandboxResourceReady({ html, ...(meta.csp !== undefined && { csp: meta.csp }) })
    host.oninitialized = () => resolve()
  })
  around.src = showing.sandbox
  const inner = around.contentWindow
  if (inner === null) throw new Error("The frame has no window")
  await host.connect(new PostMessageTransport(inner, inner))
  await ready
}

/** Calls the tool, and sends the result to its page. */
const call = async (name: string, args: Record<string, unknown>): Promise<ToolResult> => {
  if (client === null || bridge === null) throw new Error("No page is open")
  await bridge.sendToolInput({ arguments: args })
  const result = await client.callTool({ name, arguments: args })
  await send(result)
  return result
}

/** Waits until the page has handled everything that it was sent: it answers messages in order. */
const settled = async (): Promise<void> => {
  await bridge?.request({ method: "ping" })
}

/** Sends the page a result. */
const send = async (result: ToolResult): Promise<void> => {
  await bridge?.sendToolResult(result)
  await settled()
}

Object.assign(globalThis, {
  program: {
    open,
    call,
    send,
    change: async (context: Context) => {
      await bridge?.sendHostContextChange(context)
      await settled()
    },
    cancel: async () => {
      await bridge?.sendToolCancelled({})
      await settled()
    },
    opened: () => [...opened]
  }
})

/** The parts of the script that tests use. */
export interface Program {
  readonly open: (showing: Showing) => Promise<void>
  readonly call: (name: string, args: Record<string, unknown>) => Promise<ToolResult>
  readonly send: (result: ToolResult) => Promise<void>
  readonly change: (context: Context) => Promise<void>
  readonly cancel: () => Promise<void>
  readonly opened: () => ReadonlyArray<string>
}
