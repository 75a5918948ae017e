import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Option, Schema } from "effect"

/** The script of `@scalar/api-reference` that draws an API reference in a browser, as it is installed here. */
export interface Scalar {
  readonly version: string
  readonly read: () => Promise<Uint8Array>
}

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

/** Finds the package on this machine; null where it is not installed: it is an optional peer of this one. */
export const find = (from: string = import.meta.url): Scalar | null => {
  try {
    const dist = dirname(createRequire(from).resolve("@scalar/api-reference"))
    const manifest = readFileSync(join(dist, "../package.json"), "utf8")
    const { version } = Option.getOrThrow(Schema.decodeOption(Manifest)(manifest))
    return { version, read: () => readFile(join(dist, "browser/standalone.js")) }
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
