import { Predicate } from "effect"

/** The name of the MCP extension for pages beside results (MCP Apps, 2026-01-26), which both sides declare. */
export const extension = "io.modelcontextprotocol/ui"

/** The media type of such a page. */
const mimeType = "text/html;profile=mcp-app"

/** A page that a program shows beside the results of a tool. The program gives it the results. */
export interface View {
  readonly uri: `ui://${string}`
  readonly name: string
  readonly title: string
  readonly description: string
  /** The whole page, with its style and script. It must not load anything else or connect to any server. */
  readonly html: string
}

/** Whether a program with these capabilities can show pages. */
export const canShow = (capabilities: unknown): boolean => {
  const extensions = Predicate.isObject(capabilities) ? capabilities.extensions : undefined
  const settings = Predicate.isObject(extensions) ? extensions[extension] : undefined
  return Predicate.isObject(settings) && Array.isArray(settings.mimeTypes) && settings.mimeTypes.includes(mimeType)
}

/** The page's requests to the program: no outside addresses, no frames and no permissions. */
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
