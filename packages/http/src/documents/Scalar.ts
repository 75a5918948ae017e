import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { Option, Schema } from "effect"

/** The script of Scalar that draws an API reference in a browser. */
export interface Scalar {
  readonly version: string
  readonly read: () => Promise<Uint8Array>
}

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

/** Where the build puts the script: seen from the sources as from what is built of them. */
const folder = new URL("../../vendor/scalar/", import.meta.url)

/** Finds the script in this package; null where it is not beside the code, as in a program bundled into one file. */
export const find = (from: URL = folder): Scalar | null => {
  try {
    const manifest = readFileSync(new URL("version.json", from), "utf8")
    const { version } = Option.getOrThrow(Schema.decodeOption(Manifest)(manifest))
    return { version, read: () => readFile(new URL("standalone.js", from)) }
  } catch {
    return null
  }
}

/** All that could call another address, or stores a key in the browser, is off. */
export const configuration = {
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  persistAuth: false,
  documentDownloadType: "direct",
  operationTitleSource: "summary",
  defaultOpenAllTags: true,
  theme: "default"
}

/**
 * What the page of the reference may do: run its script, and call the service that it came from. Nothing else is let
 * through, so that an address that the script knows and no setting turns off stays unasked.
 */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // The script writes the styles of its parts into the page.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")
