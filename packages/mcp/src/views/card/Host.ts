/** What the program that shows the page says about itself (`McpUiHostContext`). */
export interface HostContext {
  readonly theme?: unknown
  readonly timeZone?: unknown
  readonly styles?: { readonly variables?: Readonly<Record<string, unknown>> }
}

/** What the page does when the program sends it something. */
export interface Listener {
  /** Called with the program's theme, time zone and colors: all of them at first, later those that have changed. */
  readonly onContext: (context: HostContext) => void
  /** Called with the result of the tool. */
  readonly onResult: (result: unknown) => void
  /** Called when the call of the tool was cancelled. */
  readonly onCancelled: () => void
}

/** The program that shows the page. */
export interface Host {
  /** Asks the program to open an address in the person's browser. False if the program does not. */
  readonly openLink: (url: string) => Promise<boolean>
  /** Tells the program how high the page is. */
  readonly resized: (height: number) => void
}

/** The revision of MCP Apps that the page implements. */
const protocolVersion = "2026-01-26"

/** An object whose members are not known. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object, and not a list. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Connects the page with the program that shows it: JSON-RPC in messages between the two windows.
 *
 * The page sends two requests only: the handshake, and to open a link. It refuses requests that it does not know.
 */
export const connect = (page: Window, { onCancelled, onContext, onResult }: Listener): Host => {
  const open = new Map<number, (answer: Fields | null) => void>()
  let asked = 0
  // The origin of the program is unknown. Only the window that holds this page gets the messages.
  const send = (message: object) => page.parent.postMessage({ jsonrpc: "2.0", ...message }, "*")
  const request = (method: string, params: object): Promise<Fields | null> =>
    new Promise((resolve) => {
      open.set(++asked, resolve)
      send({ id: asked, method, params })
    })

  const notified: Readonly<Record<string, (params: unknown) => void>> = {
    "ui/notifications/host-context-changed": (params) => isFields(params) && onContext(params),
    "ui/notifications/tool-result": onResult,
    "ui/notifications/tool-cancelled": onCancelled
  }
  page.addEventListener("message", ({ data, source }) => {
    if (source !== page.parent || !isFields(data) || data.jsonrpc !== "2.0") return
    const { id, method, params, result } = data
    if (typeof method !== "string") {
      if (typeof id !== "number") return
      open.get(id)?.(isFields(result) ? result : null)
      open.delete(id)
    } else if (id === undefined) {
      if (Object.hasOwn(notified, method)) notified[method]?.(params)
    } else if (method === "ping" || method === "ui/resource-teardown") {
      send({ id, result: {} })
    } else {
      send({ id, error: { code: -32601, message: "This page does not serve this method." } })
    }
  })

  const handshake = async () => {
    const answer = await request("ui/initialize", {
      appInfo: { name: "quotewire-quotes", version: "1.0.0" },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
      protocolVersion
    })
    if (answer === null) return
    if (isFields(answer.hostContext)) onContext(answer.hostContext)
    send({ method: "ui/notifications/initialized", params: {} })
  }
  void handshake()

  return {
    openLink: async (url) => {
      const answer = await request("ui/open-link", { url })
      return answer !== null && answer.isError !== true
    },
    resized: (height) => send({ method: "ui/notifications/size-changed", params: { height } })
  }
}
