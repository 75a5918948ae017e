import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { Option, Schema } from "effect"

/** The script of Scalar, which renders an API reference in the browser. */
export interface Scalar {
  readonly version: string
  readonly read: () => Promise<Uint8Array>
}

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

/** The folder of the script, the same from the sources and from the build. */
const folder = new URL("../../vendor/scalar/", import.meta.url)

/** Finds the script in this package; null if it is missing, as in a program that was bundled into one file. */
export const find = (from: URL = folder): Scalar | null => {
  try {
    const manifest = readFileSync(new URL("version.json", from), "utf8")
    const { version } = Option.getOrThrow(Schema.decodeOption(Manifest)(manifest))
    return { version, read: () => readFile(new URL("standalone.js", from)) }
  } catch {
    return null
  }
}

/** Turns off everything that could call other hosts or store a key in the browser. */
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
 * The content security policy of the reference page: its script may run and may call its own host. Nothing else is allowed,
 * so that a request to an address in the script that no setting turns off fails.
 */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // The script adds its styles to the page.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")
