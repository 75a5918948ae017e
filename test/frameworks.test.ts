import { execFile, fork } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { ExampleApplications } from "@quotewire/core/testing"
import { connect } from "@quotewire/http/client"
import { root } from "./support/sources.ts"

/*
 * The programs of the guide, unchanged, each in a separate process with the real framework. Each is asked for
 * everything that the service serves and for the program's own routes.
 */

const examples = join(root, "examples/frameworks")
const workspace = join(root, "test/frameworks")
/** Has its own dependencies (330 MB), which `npm run integrations` installs. */
const nextWorkspace = join(workspace, "next")

/** Creates a folder for copies of programs that are compiled or bundled before they run. */
const temporaryFolderIn = (folder: string): string => {
  mkdirSync(join(folder, "dist"), { recursive: true })
  const made = mkdtempSync(join(folder, "dist/made-"))
  afterAll(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const env = { ...process.env, NODE_ENV: "production", PORT: "0", NEXT_TELEMETRY_DISABLED: "1" }

/** Runs a Node program to its end. If it fails, its output is the error. */
const run = (cwd: string, ...args: ReadonlyArray<string>) =>
  promisify(execFile)(process.execPath, args, { cwd, env }).catch(({ stderr, stdout }) =>
    assert.fail(`${stdout}${stderr}`)
  )

/** A listening program. */
interface Running {
  readonly address: string
  readonly key: string
  /** Waits until this many long polls are waiting in the service. */
  readonly waiting: (polls: number) => Promise<void>
  /** Asks the program to stop and waits until it ends. */
  readonly stop: () => Promise<void>
}

const leftovers = new Set<() => void>()
afterAll(() => {
  for (const kill of leftovers) kill()
})

/**
 * Starts a program in a folder. Its service is the export of `quotewire.ts` or `quotewire.js` there, or a global one.
 */
const start = async (cwd: string, program: string, ...args: ReadonlyArray<string>): Promise<Running> => {
  const service = pathToFileURL(join(cwd, program.endsWith(".ts") ? "quotewire.ts" : "quotewire.js")).href
  const child = fork(program, args, {
    cwd,
    env: { ...env, SERVICE_MODULE: service },
    execArgv: ["--import", pathToFileURL(join(workspace, "watch.ts")).href],
    stdio: ["ignore", "pipe", "pipe", "ipc"]
  })
  leftovers.add(() => child.kill("SIGKILL"))
  let printed = ""
  const ended = once(child, "close")
  const failed = ended.then(() => assert.fail(`${program} has ended: ${printed}`))
  failed.catch(() => {})
  const port = new Promise<number>((resolve) => {
    child.on("message", (told: { readonly port?: number }) => told.port !== undefined && resolve(told.port))
  })
  const key = new Promise<string>((resolve) => {
    const read = (bytes: unknown) => {
      printed += bytes
      const [, found] = /key: (\S+)/.exec(printed) ?? []
      if (found !== undefined) resolve(found)
    }
    child.stdout?.on("data", read)
    child.stderr?.on("data", read)
  })
  return {
    address: `http://127.0.0.1:${await Promise.race([port, failed])}`,
    key: await Promise.race([key, failed]),
    waiting: async (polls) => {
      for (let told = -1; told !== polls; ) {
        child.send("polls")
        const [message] = await Promise.race([once(child, "message"), failed])
        told = message.polls
      }
    },
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    }
  }
}

/** A framework: the path at which its program mounts the service, and how to start the program. */
interface Framework {
  readonly name: string
  readonly path: string
  /**
   * Whether the path itself is served. Nest on Fastify strips it without reporting it, and a pattern with `/*` excludes
   * it.
   */
  readonly serves_mount: boolean
  /** Makes the program from its sources. */
  readonly prepare: () => Promise<unknown>
  readonly start: () => Promise<Running>
}

const plain = (name: string, program: string): Framework => ({
  name,
  path: "/insurance",
  serves_mount: true,
  prepare: async () => {},
  start: () => start(examples, program)
})

const nest = temporaryFolderIn(workspace)
let compiled: Promise<unknown> | null = null
const compileNest = () => {
  cpSync(join(examples, "nest"), nest, { recursive: true })
  cpSync(join(workspace, "nest"), nest, { recursive: true })
  cpSync(join(examples, "quotewire.ts"), join(nest, "quotewire.ts"))
  return run(nest, join(workspace, "node_modules/typescript/bin/tsc"), "-p", nest)
}
const inNest = (name: string, program: string, serves_mount: boolean): Framework => ({
  name,
  path: "/insurance",
  serves_mount,
  prepare: () => (compiled ??= compileNest()),
  start: () => start(nest, join(nest, program))
})

const nextProgram = join(nextWorkspace, "node_modules/next/dist/bin/next")
const hasNext = existsSync(nextProgram)
const next = hasNext ? temporaryFolderIn(nextWorkspace) : ""
const inNext: Framework = {
  name: "Next",
  path: "/api/insurance",
  serves_mount: true,
  prepare: async () => {
    cpSync(join(examples, "next"), next, { recursive: true })
    cpSync(join(nextWorkspace, "app"), join(next, "app"), { recursive: true })
    const { stderr, stdout } = await run(next, nextProgram, "build")
    assert.notMatch(stdout + stderr, /warn/i)
  },
  start: () => start(next, nextProgram, "start", "--port", "0")
}

const frameworks = [
  plain("node:http", "node.ts"),
  plain("Express", "express.ts"),
  plain("Fastify", "fastify.ts"),
  plain("Hono", "hono.ts"),
  inNest("Nest", "main.js", true),
  inNest("Nest on Fastify", "fastify.js", false),
  inNest("Nest, behind its parser", "parsed.js", false),
  ...(hasNext ? [inNext] : [])
]

it.skipIf(hasNext)("Next.js is tested only if `npm run integrations` has installed Next.js", () => {})

const application = ExampleApplications.smallest.renters
const startOf = (request_key: string) =>
  ({ line: "renters", consent_receipt_id: "receipt-0001", request_key, application }) as const

/** Calls to a program, with its key. */
const callsOf = ({ address, key, waiting }: Running, path: string) => {
  const base_url = `${address}${path}`
  const authorization = `Bearer ${key}`
  const client = connect({ base_url, key })
  const get = (at: string, init: RequestInit = {}) => fetch(`${base_url}${at}`, { headers: { authorization }, ...init })
  const post = (at: string, body: unknown) =>
    fetch(`${base_url}${at}`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(body)
    })
  /** Starts a request that stays in its queue, and a long poll for its next version. */
  const poll = async (requestKey: string, init: RequestInit = {}) => {
    const { id } = await client.start_quote_request({ ...startOf(requestKey), scenario: "waits_in_queue" })
    const answer = get(`/v1/quote-requests/${id}?since_version=1&wait_seconds=20`, init)
    // It may reject before a test awaits it.
    answer.catch(() => {})
    await waiting(1)
    return { answer }
  }
  return { client, get, post, poll }
}

describe.each(frameworks)("a service mounted in $name", (framework) => {
  const { path } = framework
  let running: Running
  let calls: ReturnType<typeof callsOf>
  beforeAll(async () => {
    await framework.prepare()
    running = await framework.start()
    calls = callsOf(running, path)
    // A Next build can take minutes on a busy machine.
  }, 900_000)

  const publicly = (at: string) => `http://localhost:3000${path}${at}`

  it("serves a quote request from its start to its quotes", async () => {
    const { client, post } = calls
    const started = await post("/v1/quote-requests", startOf("priced"))
    assert.strictEqual(started.status, 202)
    const { id } = await started.json()
    assert.strictEqual(started.headers.get("location"), `${path}/v1/quote-requests/${id}`)
    await client.advance_time({ seconds: 60 }, { idempotency_key: "one-minute" })
    const { quote_request, quotes } = await client.wait_for_quotes(id)
    assert.deepStrictEqual([quote_request.status, quotes.length], ["completed", 3])
  })

  it("returns errors in the API's format", async () => {
    const { get, post } = calls
    const wrong = await post("/v1/quote-requests", { ...startOf("wrong"), application: { dwelling: { type: 1 } } })
    assert.strictEqual(wrong.status, 422)
    const { error } = await wrong.json()
    assert.include(JSON.stringify(error.field_errors), '"application.dwelling.type"')
    assert.strictEqual(error.doc_url, publicly(`/docs/v1/errors/${error.code}`))
    const unknown = await get("/v1/quotes/quote_1")
    assert.deepStrictEqual([unknown.status, (await unknown.json()).error.code], [404, "not_found"])
    const refused = await get("/v1/capabilities?line=renters", { headers: {} })
    assert.deepStrictEqual([refused.status, (await refused.json()).error.code], [401, "authentication_failed"])
  })

  it("serves documentation, agents, callbacks, links and health checks", async () => {
    const { get, post } = calls
    if (framework.serves_mount) assert.include(await (await get("")).text(), publicly(""))
    const docs = await get("/docs")
    assert.include(docs.headers.get("content-type") ?? "", "text/html")
    assert.include(await docs.text(), "</html>")
    const { servers } = await (await get("/openapi.json")).json()
    assert.strictEqual(servers[0].url, publicly(""))
    const tools = await post("/v1/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" })
    assert.include(await tools.text(), '"start_quote_request"')
    const callback = await post("/carriers/acme/callbacks", {})
    assert.deepStrictEqual([callback.status, (await callback.json()).error.code], [404, "not_found"])
    const link = await get("/go/x")
    assert.strictEqual(link.status, 404)
    assert.include(link.headers.get("content-type") ?? "", "text/html")
    assert.strictEqual((await get("/health/ready")).status, 200)
  })

  it("returns 404 as JSON for unknown paths below the mount path", async () => {
    for (const at of ["/v1/nothing", "/nothing", "/v1/quotes/"]) {
      for (const method of ["GET", "POST", "PUT"]) {
        const answer = await calls.get(at, { method })
        assert.strictEqual(answer.status, 404)
        assert.match(answer.headers.get("content-type") ?? "", /^application\/json/)
        // Nest on Fastify strips the mount path without reporting it, so the handler passes on unknown paths.
        if (framework.name !== "Nest on Fastify") assert.strictEqual((await answer.json()).error.code, "not_found")
      }
    }
  })

  it("leaves the program's other routes unchanged", async () => {
    const headers = { "content-type": "application/json" }
    const own = await fetch(`${running.address}/orders`, { method: "POST", headers, body: '{"bicycle":1}' })
    assert.deepStrictEqual(await own.json(), { bicycle: 1 })
    const elsewhere = await fetch(`${running.address}/v1/capabilities?line=renters`)
    assert.strictEqual(elsewhere.status, 404)
    assert.isNull(elsewhere.headers.get("service-version"))
  })

  it("ends a long poll when the caller disconnects", async () => {
    const caller = new AbortController()
    await calls.poll("aborted", { signal: caller.signal })
    caller.abort()
    await running.waiting(0)
  })

  it("answers a long poll when the program stops", async () => {
    const { answer } = await calls.poll("stopped")
    const stopped = running.stop()
    assert.strictEqual((await answer).status, 200)
    await stopped
  })
})
