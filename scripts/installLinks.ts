import { pathToFileURL } from "node:url"
import { Bridge } from "@quotewire/mcp/stdio"
import { Option } from "effect"

/*
 * Creates links that add an MCP server to an agent program. `npx node scripts/installLinks.ts
 * https://quotes.example.com` prints the links for a host, to put on the host's web page. A link contains no key,
 * because links end up in histories and logs.
 */

/**
 * The links for a host. Each agent program has its own URL scheme, and an https form for pages that allow no other
 * schemes.
 */
export interface InstallLinks {
  readonly cursor: string
  readonly cursor_web: string
  readonly vscode: string
  readonly vscode_web: string
}

/** Creates the links for the host at an address such as `https://quotes.example.com`, without a trailing slash. */
export const installLinks = (baseUrl: string): InstallLinks => {
  const url = `${baseUrl}/v1/mcp`
  const cursor = new URLSearchParams({ name: "quotewire", config: btoa(JSON.stringify({ url })) })
  const config = { type: "http", url }
  const vscodeWeb = new URLSearchParams({ name: "quotewire", config: JSON.stringify(config) })
  return {
    cursor: `cursor://anysphere.cursor-deeplink/mcp/install?${cursor}`,
    cursor_web: `https://cursor.com/en/install-mcp?${cursor}`,
    vscode: `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: "quotewire", ...config }))}`,
    vscode_web: `https://insiders.vscode.dev/redirect/mcp/install?${vscodeWeb}`
  }
}

const [, file = "", address = "http://127.0.0.1:8787"] = process.argv
if (import.meta.url === pathToFileURL(file).href) {
  const baseUrl = Option.getOrNull(Bridge.readHost(address))
  if (baseUrl === null) {
    console.error(`The address must ${Bridge.hostRule}.`)
    process.exitCode = 2
  } else {
    for (const [name, link] of Object.entries(installLinks(baseUrl))) console.log(`${name}\n  ${link}\n`)
  }
}
