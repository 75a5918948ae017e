/** The web pages that may call: browsers send their origin, other programs send none. */
export interface Origins {
  /** Origins such as `https://agent.example`. */
  readonly allowed: ReadonlyArray<string>
  /** Whether pages of this machine may call, at any port: for a sandbox that listens at the loopback address. */
  readonly loopback: boolean
}

/** Whether a page of this origin may call. What else could be a page that turns a name into a local address. */
export const isAllowed = ({ allowed, loopback }: Origins, origin: string): boolean =>
  allowed.includes(origin) || (loopback && isLoopback(origin))

const isLoopback = (origin: string): boolean =>
  /^https?:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/.test(origin)

/** The headers that let a page of this origin read an answer. */
export const readableBy = (origin: string): Readonly<Record<string, string>> => ({
  vary: "Origin",
  "access-control-allow-origin": origin,
  "access-control-expose-headers": "Mcp-Session-Id, Request-Id, Service-Version"
})

/** What a browser is told before it lets a page call. */
export const preflight: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "POST",
  "access-control-allow-headers":
    "Accept, Authorization, Content-Type, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id",
  "access-control-max-age": "600"
}
