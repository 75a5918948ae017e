import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

/** The program's script, as one file. */
const script = async (): Promise<string> => {
  const build = await rolldown({ input: fileURLToPath(new URL("page.ts", import.meta.url)), platform: "browser" })
  const { output } = await build.generate({ format: "esm" })
  await build.close()
  return output[0].code
}

const program = `<!doctype html><meta charset="utf-8"><title>A program</title>
<style>html { background: Canvas; color-scheme: light dark } iframe { width: 100%; height: 20rem; border: 0 }</style>
<script type="module" src="/page.js"></script>`

/** The frame around the page of a tool: it forwards messages, and loads the page with the policy that it was sent. */
const sandbox = `<!doctype html><meta charset="utf-8"><title>A sandbox</title>
<style>html, body { margin: 0; height: 100% } iframe { width: 100%; height: 100%; border: 0; display: block }</style>
<script>
  const inner = document.createElement("iframe")
  inner.sandbox = "allow-scripts"
  window.addEventListener("message", ({ data, source }) => {
    if (source === inner.contentWindow) window.parent.postMessage(data, "*")
    else if (source !== window.parent) return
    else if (data.method === "ui/notifications/sandbox-resource-ready") {
      inner.srcdoc = data.params.html
      document.body.append(inner)
    } else inner.contentWindow.postMessage(data, "*")
  })
  window.addEventListener("load", () =>
    window.parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*")
  )
</script>`

/** The policy that MCP Apps prescribes for a page that declares no addresses. A nested page inherits it. */
const policy = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "media-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'none'",
  "object-src 'none'",
  "base-uri 'self'"
].join("; ")

const html = "text/html; charset=utf-8"

/** Serves the program, and the frame for tools' pages on a different origin. */
export const serveProgram = async () => {
  const code = await script()
  const answers: Readonly<Record<string, readonly [type: string, body: string]>> = {
    "/": [html, program],
    "/page.js": ["text/javascript", code],
    "/sandbox": [html, sandbox]
  }
  const answer = ({ url = "/" }: IncomingMessage, response: ServerResponse) => {
    const [type, body] = answers[url] ?? ["text/plain", ""]
    if (url === "/sandbox") response.setHeader("content-security-policy", policy)
    response.writeHead(url in answers ? 200 : 404, { "content-type": type }).end(body)
  }
  const server = createServer(answer)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const bound = server.address()
  const port = typeof bound === "object" && bound !== null ? bound.port : 0
  return {
    address: `http://127.0.0.1:${port}/`,
    sandbox: `http://localhost:${port}/sandbox`,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
