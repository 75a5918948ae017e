import { Predicate } from "effect"

/** The extension of the protocol with which programs show pages (MCP Apps, 2026-01-26), as both sides declare it. */
export const extension = "io.modelcontextprotocol/ui"

/** The content type of such a page. */
const mime_type = "text/html;profile=mcp-app"

/** A page that a program shows beside the results of a tool. The program gives it the results. */
export interface View {
  readonly uri: `ui://${string}`
  readonly name: string
  readonly title: string
  readonly description: string
  /** The whole page, with its style and its script: it may load nothing else, and connect to nobody. */
  readonly html: string
}

/** Whether a program with these capabilities shows pages. */
export const canShow = (capabilities: unknown): boolean => {
  const extensions = Predicate.isObject(capabilities) ? capabilities.extensions : undefined
  const settings = Predicate.isObject(extensions) ? extensions[extension] : undefined
  return Predicate.isObject(settings) && Array.isArray(settings.mimeTypes) && settings.mimeTypes.includes(mime_type)
}

/** What the program lets a page do: nothing that needs another address, a frame or a permission. */
const _meta = {
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
  mimeType: mime_type,
  _meta
})

/** The page as `resources/read` shows it. */
export const contents = ({ html, uri }: View): object => ({ uri, mimeType: mime_type, text: html, _meta })
