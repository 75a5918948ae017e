import { pathToFileURL } from "node:url"

/*
 * Links that add an MCP server to an agent program. `node scripts/installLinks.ts https://quotes.example.com` prints those of a
 * host, for its web page. A link holds no key: links end up in histories and logs.
 */

/** The links of a host. Of each program there is its own scheme, and an https form for pages that allow no other. */
export interface InstallLinks {
  readonly cursor: string
  readonly cursor_web: string
  readonly vscode: string
  readonly vscode_web: string
}

/** The links for the host at an address. */
export const installLinks = (base_url: string): InstallLinks => {
  const url = new URL("v1/mcp", base_url.replace(/\/*$/, "/")).href
  const cursor = new URLSearchParams({ name: "quotewire", config: btoa(JSON.stringify({ url })) })
  const config = { type: "http", url }
  const vscode_web = new URLSearchParams({ name: "quotewire", config: JSON.stringify(config) })
  return {
    cursor: `cursor://anysphere.cursor-deeplink/mcp/install?${cursor}`,
    cursor_web: `https://cursor.com/en/install-mcp?${cursor}`,
    vscode: `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: "quotewire", ...config }))}`,
    vscode_web: `https://insiders.vscode.dev/redirect/mcp/install?${vscode_web}`
  }
}

const [, file = "", address] = process.argv
if (import.meta.url === pathToFileURL(file).href) console.log(installLinks(address ?? "http://127.0.0.1:8787"))
