import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { extname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import axe from "axe-core"
import type { Browser } from "playwright-core"
import { startBrowser } from "../test/support/browser.ts"

/*
 * Checks the built site: every link and its fragment leads somewhere, no page makes requests to another host, search
 * finds things, and axe reports no problems on pages of each kind, in light and dark, wide and narrow.
 */

const dist = fileURLToPath(new URL("dist/", import.meta.url))

const types: { readonly [extension: string]: string } = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml"
}

/** The file that a static file server returns for a path; null if there is none. */
const fileFor = (path: string): string | null => {
  const candidates = [path, `${path}.html`, posix.join(path, "index.html")].map((name) => join(dist, name))
  return candidates.find((file) => existsSync(file) && statSync(file).isFile()) ?? null
}

const server = createServer((request, response) => {
  const file = fileFor(decodeURIComponent(new URL(request.url ?? "/", "http://site").pathname))
  if (file === null) return response.writeHead(404).end()
  return response.writeHead(200, { "content-type": types[extname(file)] ?? "text/plain" }).end(readFileSync(file))
})

/** The pages that VitePress made; those of TypeDoc and of the API are made by other programs. */
const pages = readdirSync(dist, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".html") && !/^(packages|api|404)/.test(path))
  .map((path) => `/${path.replaceAll("\\", "/")}`)

const idsOf = (html: string): ReadonlySet<string> =>
  new Set(Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id))

/** The links of all pages that lead nowhere. */
const deadLinks = (): ReadonlyArray<string> =>
  pages.flatMap((page) => {
    const html = readFileSync(join(dist, page), "utf8")
    return Array.from(html.matchAll(/<a\s[^>]*href="([^"]+)"/g), ([, href = ""]) => href)
      .filter((href) => !/^[a-z]+:/.test(href))
      .flatMap((href) => {
        const url = new URL(href, `http://site${page}`)
        const file = fileFor(decodeURIComponent(url.pathname))
        if (file === null) return [`${page} links to ${href}, which is not there.`]
        const fragment = decodeURIComponent(url.hash.slice(1))
        const isFound = fragment === "" || idsOf(readFileSync(file, "utf8")).has(fragment)
        return isFound ? [] : [`${page} links to ${href}, but that page has no such heading.`]
      })
  })

/** One page of each kind. */
const kinds = [
  "/",
  "/start",
  "/questions/serverless",
  "/guides/embed",
  "/reference/api",
  "/decisions/storage",
  "/changelog"
]

interface Finding {
  readonly id: string
  readonly impact?: string | null
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

/** What axe finds on one page, as lines. */
const findingsOf = async (browser: Browser, base: string, path: string, dark: boolean, width: number) => {
  const context = await browser.newContext({
    colorScheme: dark ? "dark" : "light",
    viewport: { width, height: 900 },
    bypassCSP: true
  })
  const foreign: Array<string> = []
  const page = await context.newPage()
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) foreign.push(request.url())
  })
  await page.goto(`${base}${path}`, { waitUntil: "networkidle" })
  await page.addScriptTag({ content: axe.source })
  const violations: ReadonlyArray<Finding> = await page.evaluate("axe.run().then(({ violations }) => violations)")
  await context.close()
  const where = `${path} (${dark ? "dark" : "light"}, ${width} px)`
  return [
    ...violations.map(
      ({ id, nodes }) =>
        `${where}: ${id}: ${nodes
          .map(({ html }) => html.slice(0, 120))
          .slice(0, 3)
          .join(" | ")}`
    ),
    ...foreign.map((url) => `${where} asks another host: ${url}`)
  ]
}

/** Searches as a reader does. */
const searchFinds = async (browser: Browser, base: string, words: string): Promise<boolean> => {
  const page = await browser.newPage()
  await page.goto(base, { waitUntil: "networkidle" })
  await page.keyboard.press("ControlOrMeta+KeyK")
  await page.locator("#localsearch-input").fill(words)
  await page.locator("#localsearch-list .result").first().waitFor()
  const text = await page.locator("#localsearch-list").textContent()
  await page.close()
  return (text ?? "").toLowerCase().includes(words)
}

server.listen(0, "127.0.0.1")
await new Promise((resolve) => server.once("listening", resolve))
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const browser = await startBrowser()
try {
  const failures = [...deadLinks()]
  for (const path of kinds) {
    for (const dark of [false, true]) failures.push(...(await findingsOf(browser, base, path, dark, 1280)))
    failures.push(...(await findingsOf(browser, base, path, false, 400)))
  }
  if (!(await searchFinds(browser, base, "webhook"))) failures.push("Search does not find “webhook”.")
  for (const path of ["/api/", "/packages/"]) {
    const answer = await fetch(`${base}${path}`)
    if (!answer.ok) failures.push(`${path} is missing.`)
  }
  assert.deepEqual(failures, [])
  process.stdout.write(`${pages.length} pages: links lead somewhere, search works, axe finds nothing.\n`)
} finally {
  await browser.close()
  server.close()
}
