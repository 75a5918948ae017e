/** The script of Scalar, which renders an API reference in the browser. */
export interface Scalar {
  readonly version: string
  readonly read: () => Promise<Uint8Array>
  readonly brotli: (bytes: Uint8Array) => Promise<Uint8Array>
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
  theme: "default",
  // Readable replacements for theme colors that have too little contrast with their backgrounds.
  customCss: [
    ".light-mode { --scalar-color-2: #5c5c5c; --scalar-color-3: #666666; --scalar-color-green: #00734a;",
    "--scalar-color-blue: #0064a8; --scalar-color-red: #c40005; --scalar-color-yellow: #7a5c00; --scalar-color-orange: #b03c00 }",
    ".dark-mode { --scalar-color-3: #a0a0a0; --scalar-color-red: #ff7b79 }"
  ].join(" ")
}

/** The name under which the console stores a tab's key in session storage. */
export const keptKey = "quotewire-console-key"

/**
 * Fills in the sandbox key that the console stored in this tab. The key stays in the browser, and other sites cannot
 * read it. This script runs before Scalar's.
 */
export const fillIn = `const key = sessionStorage.getItem("${keptKey}")
if (key?.startsWith("sandbox_")) {
  const { dataset } = document.getElementById("api-reference")
  const authentication = { preferredSecurityScheme: "bearer", securitySchemes: { bearer: { token: key } } }
  dataset.configuration = JSON.stringify({ ...JSON.parse(dataset.configuration), authentication })
}
`

/**
 * The content security policy of the reference page: scripts from its own host may run, and may call that host. Nothing
 * else is allowed, so requests to other hosts fail, even those that no Scalar setting can turn off.
 */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // Scalar's script adds styles to the page.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")
