import { Predicate } from "effect"

/** The name of the MCP extension for pages beside results (MCP Apps, 2026-01-26). Both sides declare it. */
export const extension = "io.modelcontextprotocol/ui"

/** The media type of pages beside results. */
const mimeType = "text/html;profile=mcp-app"

/** A page that a client program shows beside a tool's results. The client passes the results to the page. */
export interface View {
  readonly uri: `ui://${string}`
  readonly name: string
  readonly title: string
  readonly description: string
  /** The whole page, with its style and its script. It must not load anything else or connect to a server. */
  readonly html: string
}

/** Whether a client with these capabilities can show pages. */
export const canShow = (capabilities: unknown): boolean => {
  const extensions = Predicate.isObject(capabilities) ? capabilities.extensions : undefined
  const settings = Predicate.isObject(extensions) ? extensions[extension] : undefined
  return Predicate.isObject(settings) && Array.isArray(settings.mimeTypes) && settings.mimeTypes.includes(mimeType)
}

/** The access that the page asks the client for: no other hosts, no frames and no permissions. */
const metadata = {
  ui: {
    csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
    permissions: {},
    prefersBorder: true
  }
}

/** The page as `resources/list` shows it. */
export const listed = ({ description, name, title, uri }: View): object => ({
  uri,
  name,
  title,
  description,
  mimeType,
  _meta: metadata
})

/** The page as `resources/read` shows it. */
export const contents = ({ html, uri }: View): object => ({ uri, mimeType, text: html, _meta: metadata })
