/** The context that the client program gives to the page (`McpUiHostContext`). */
export interface HostContext {
  readonly theme?: unknown
  readonly timeZone?: unknown
  readonly styles?: { readonly variables?: Readonly<Record<string, unknown>> }
}

/** The page's handlers for messages from the client program. */
export interface Listener {
  /** Called with the client's theme, time zone and colors: first with all of them, later only with changed values. */
  readonly onContext: (context: HostContext) => void
  /** Called with the tool's result. */
  readonly onResult: (result: unknown) => void
  /** Called when the tool call is cancelled. */
  readonly onCancelled: () => void
}

/** The client program that shows the page. */
export interface Host {
  /** Asks the client program to open a URL in the person's browser. Resolves to false if it does not. */
  readonly openLink: (url: string) => Promise<boolean>
  /** Reports the page's height to the client program. */
  readonly resized: (height: number) => void
}

/** The revision of MCP Apps that the page implements. */
const protocolVersion = "2026-01-26"

/** An object with unknown members. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object and not a list. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Connects the page to the client program that shows it, with JSON-RPC messages between the two windows.
 *
 * The page sends only two kinds of request: the handshake, and requests to open a link. It refuses unknown requests
 * from the client program.
 */
export const connect = (page: Window, { onCancelled, onContext, onResult }: Listener): Host => {
  const open = new Map<number, (answer: Fields | null) => void>()
  let requestCount = 0
  // The client's origin is unknown, so any origin is allowed. Only the parent window gets the messages.
  const send = (message: object) => page.parent.postMessage({ jsonrpc: "2.0", ...message }, "*")
  const request = (method: string, params: object): Promise<Fields | null> =>
    new Promise((resolve) => {
      open.set(++requestCount, resolve)
      send({ id: requestCount, method, params })
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
      send({ id, error: { code: -32601, message: "This page does not support this method." } })
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
