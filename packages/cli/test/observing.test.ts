import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { freePort } from "./support/freePort.ts"

const program = fileURLToPath(new URL("../bin/quotewire.js", import.meta.url))

const stopped = async (child: ChildProcess) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill("SIGTERM")
  await once(child, "close")
}

/** A ready host, which is stopped when the test ends. */
const host = (args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, [program, "dev", "--port", "0", "--json", ...args])
      let stdout = ""
      child.stdout.on("data", (bytes) => {
        stdout += bytes
      })
      child.stderr.resume()
      while (!stdout.includes("\n")) await once(child.stdout, "data")
      return { child, ready: JSON.parse(stdout) }
    }),
    ({ child }) => Effect.promise(() => stopped(child))
  )

/** An OpenTelemetry collector: the bodies that it received, by path. */
const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const got: Array<{ readonly path: string; readonly text: string }> = []
    const server = createServer(async (request, response) => {
      let text = ""
      for await (const chunk of request) text += chunk
      got.push({ path: request.url ?? "", text })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return { server, got, url: `http://127.0.0.1:${port}` }
  }),
  ({ server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    })
)

const get = (url: string, key: string) =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    return { status: response.status, text: await response.text() }
  })

describe("quotewire dev", () => {
  it.live("serves metrics on a separate port, if configured", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const { ready } = yield* host(["--metrics-port", String(port)])
      yield* get(`${ready.base_url}/v1/sandbox`, ready.keys.server)
      const metrics = yield* get(`http://127.0.0.1:${port}/metrics`, "")
      assert.include(metrics.text, 'quotewire_requests_total{operation="get_sandbox",status="200"} 1\n')
      assert.match(metrics.text, /^quotewire_oldest_due_job_age_seconds \d/m)
      assert.notInclude(metrics.text, ready.keys.server)
      assert.strictEqual((yield* get(`${ready.base_url}/metrics`, ready.keys.server)).status, 404)
    })
  )

  it.live("sends traces without request data to a collector, if configured", () =>
    Effect.gen(function* () {
      const { got, url } = yield* collector
      const { ready, child } = yield* host(["--otlp-url", url, "--log-format", "json"])
      yield* get(`${ready.base_url}/v1/quote-requests?created_after=secret`, ready.keys.server)
      // The host exports the remaining spans when it stops.
      yield* Effect.promise(() => stopped(child))
      const traces = got.filter(({ path }) => path === "/v1/traces").map(({ text }) => text)
      assert.include(traces.join(""), '"list_quote_requests"')
      assert.include(traces.join(""), '"quotewire"')
      for (const secret of [ready.keys.server, "secret"]) assert.notInclude(traces.join(""), secret)
    })
  )
})
