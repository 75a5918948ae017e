import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { nodeHandler } from "@quotewire/http"
import { webHandler } from "@quotewire/http/web"
import { Effect } from "effect"
import { Agent, request } from "undici"
import { embedded, serving } from "./handlers/support.ts"
import { start } from "./support/host.ts"

const get = (url: string | URL, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const agent = new Agent()
    // `fetch` would decompress the body.
    const answer = await request(url, { headers, dispatcher: agent })
    const body = Buffer.from(await answer.body.arrayBuffer())
    await agent.close()
    return { status: answer.statusCode, headers: answer.headers, body, text: body.toString() }
  })

/** The addresses that a page loads. */
const loaded = (text: string) =>
  Array.from(text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g), ([, address = ""]) => address)

const emptyFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quotewire-console-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

describe("the console", () => {
  it.live("serves the same page at every path below /console, and loads files only from its host", () =>
    Effect.gen(function* () {
      const { url } = yield* start({ console: {} })
      const page = yield* get(`${url}/console`)
      assert.strictEqual(page.status, 200)
      assert.strictEqual(
        page.headers["content-security-policy"],
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
      )
      assert.strictEqual(page.headers["cache-control"], "no-store")
      assert.strictEqual(page.headers["referrer-policy"], "no-referrer")
      assert.strictEqual(page.headers["x-content-type-options"], "nosniff")
      assert.notMatch(page.text, /<script(?![^>]* src=)|<style|https?:| style=/)
      assert.include(page.text, '<meta name="quotewire-operators" content="false">')
      for (const path of ["/console/", "/console/requests/qreq_1", "/console/a/b/c/d/e?x=1", "/console/console.txt"]) {
        assert.strictEqual((yield* get(`${url}${path}`)).text, page.text, path)
      }
      assert.deepStrictEqual(loaded(page.text), ["/console/console.css", "/console/console.js"])
    })
  )

  it.live("serves its files with an ETag, in a compression that the browser accepts", () =>
    Effect.gen(function* () {
      const { url } = yield* start({ console: {} })
      const types = { "console.js": "text/javascript; charset=utf-8", "console.css": "text/css; charset=utf-8" }
      for (const [name, type] of Object.entries(types)) {
        const address = `${url}/console/${name}`
        const plain = yield* get(address)
        assert.strictEqual(plain.headers["content-type"], type)
        assert.isNotEmpty(plain.body)
        const br = yield* get(address, { "accept-encoding": "br, gzip" })
        assert.strictEqual(br.headers["content-encoding"], "br")
        assert.deepStrictEqual(brotliDecompressSync(br.body), plain.body)
        const gzip = yield* get(address, { "accept-encoding": "gzip" })
        assert.deepStrictEqual(gunzipSync(gzip.body), plain.body)
        const again = yield* get(address, { "if-none-match": String(plain.headers.etag) })
        assert.deepStrictEqual([again.status, again.text], [304, ""])
      }
    })
  )

  it.live("is off by default, and returns 404 for POST", () =>
    Effect.gen(function* () {
      const off = yield* start()
      for (const path of ["/console", "/console/", "/console/console.js"]) {
        assert.strictEqual((yield* off.send("GET", path, { key: null })).status, 404, path)
      }
      const on = yield* start({ console: {} })
      assert.strictEqual((yield* on.send("POST", "/console/requests", { key: null })).status, 404)
      assert.strictEqual((yield* on.send("GET", "/consoles", { key: null })).status, 404)
    })
  )

  it.live("uses the base path of nodeHandler and webHandler", () =>
    Effect.gen(function* () {
      const service = yield* embedded({ public_url: "https://shop.example/insurance" })
      const node = yield* serving(nodeHandler(service.quotewire, { base_path: "/insurance", console: true }))
      const web = webHandler(service.quotewire, { base_path: "/insurance", console: true })
      const onWeb = yield* Effect.promise(() => web(new Request("https://shop.example/insurance/console/requests")))
      const pages = [(yield* get(`${node}/insurance/console/requests`)).text, yield* Effect.promise(() => onWeb.text())]
      for (const text of pages) {
        assert.include(text, '<meta name="quotewire-base-path" content="/insurance">')
        assert.deepStrictEqual(loaded(text), ["/insurance/console/console.css", "/insurance/console/console.js"])
      }
      const script = yield* Effect.promise(() => web(new Request("https://shop.example/insurance/console/console.js")))
      assert.strictEqual(script.headers.get("content-type"), "text/javascript; charset=utf-8")
    })
  )

  it.live("returns 503 with instructions if its files are missing", () =>
    Effect.gen(function* () {
      const folder = yield* emptyFolder
      for (const place of [folder, `${folder}/`, pathToFileURL(folder)]) {
        const { url } = yield* start({ console: { folder: place } })
        const page = yield* get(`${url}/console`)
        assert.strictEqual(page.status, 503)
        assert.include(page.text, "node_modules/@quotewire/http/dist/console")
      }
    })
  )

  it.live("serves its files from the folder in its options", () =>
    Effect.gen(function* () {
      const folder = new URL("../dist/console", import.meta.url)
      const service = yield* embedded()
      const url = yield* serving(nodeHandler(service.quotewire, { console: { folder } }))
      assert.strictEqual((yield* get(`${url}/console/console.js`)).status, 200)
    })
  )

  it.live("rejects an invalid option with an error that names the option", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      const options = JSON.parse('{ "console": "yes" }')
      assert.throws(() => nodeHandler(quotewire, options), "console: Must be true, false, or { folder }")
    })
  )
})
