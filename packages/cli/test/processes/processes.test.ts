import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { Agent, get } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "../../../../test/support/eventually.ts"
import { emptyDatabase, type freshDatabase } from "../../../../test/support/TestDatabase.ts"
import { freePort } from "../support/freePort.ts"
import { runInProcess } from "../support/inProcess.ts"
import { host, run } from "../support/program.ts"

/** The settings that name a database to the command. */
const database = (make: typeof freshDatabase) =>
  Effect.map(
    Effect.acquireRelease(Effect.promise(make), ({ drop }) => Effect.promise(drop)),
    ({ url }) => ({
      QUOTEWIRE_DATABASE_URL: url,
      QUOTEWIRE_SEAL_KEYS: randomBytes(32).toString("base64"),
      QUOTEWIRE_PROCESSES: "2"
    })
  )

/** Two processes that are ready, with their metrics. */
const serving = Effect.fnUntraced(function* (env: Record<string, string>, ...args: ReadonlyArray<string>) {
  const port = yield* freePort
  const started = yield* host(["serve", "--port", "0", "--json", "--metrics-port", `${port}`, ...args], env)
  const { child } = started
  let log = ""
  child.stderr.on("data", (bytes) => {
    log += bytes
  })
  const metrics = Effect.promise(async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  return {
    ...started,
    base_url: String(JSON.parse(started.output()).base_url),
    /** Waits until the log contains a text, and returns the log. */
    logged: (text: string) =>
      Effect.promise(async () => {
        while (!log.includes(text)) await once(child.stderr, "data")
        return log
      }),
    /** The value of a metric. */
    metric: (name: string) =>
      Effect.map(metrics, (text) => {
        const line = text.split("\n").find((line) => line.startsWith(`${name} `))
        return Number(line?.slice(name.length))
      })
  }
})

const live = 'quotewire_requests_total{operation="/health/live",status="200"}'

/** Sends requests one after the other until told to stop, over a connection that stays open if the host keeps it. */
const streaming = (baseUrl: string, isOver: () => boolean) =>
  Effect.promise(async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let answered = 0
    while (!isOver()) {
      await new Promise<void>((resolve, reject) => {
        get(`${baseUrl}/health/live`, { agent }, (answer) => {
          assert.strictEqual(answer.statusCode, 200)
          answer.resume().on("end", resolve)
        }).on("error", reject)
      })
      answered += 1
    }
    agent.destroy()
    return answered
  })

/** Sends requests, each over its own connection, until told to stop. Returns how they ended. */
const connecting = (baseUrl: string, isOver: () => boolean) =>
  Effect.promise(async () => {
    const outcomes = new Set<string>()
    while (!isOver()) {
      const outcome = await new Promise<string>((resolve) => {
        get(`${baseUrl}/health/live`, { agent: false }, (answer) => {
          answer.resume().on("end", () => resolve(String(answer.statusCode)))
          answer.on("error", ({ message }) => resolve(message))
        }).on("error", (error) =>
          resolve("syscall" in error && error.syscall === "connect" ? "refused" : error.message)
        )
      })
      outcomes.add(outcome)
    }
    return outcomes
  })

describe("quotewire serve --processes", () => {
  it.live("restarts on SIGHUP without failing a request, and replaces a killed process", () =>
    Effect.gen(function* () {
      const env = yield* database(emptyDatabase)
      const { base_url, child, ended, logged, metric, output } = yield* serving(env, "--migrate")
      assert.strictEqual(yield* metric("quotewire_processes"), 2)

      let isOver = false
      const restarting = Effect.gen(function* () {
        child.kill("SIGHUP")
        const log = yield* logged("Replaced every process")
        isOver = true
        return log
      })
      const streams = Array.from({ length: 3 }, () => streaming(base_url, () => isOver))
      const [log, ...answered] = yield* Effect.all([restarting, ...streams], { concurrency: "unbounded" })
      const pids = Array.from(log.matchAll(/next_pid=(\d+)/g), ([, pid]) => Number(pid))
      assert.strictEqual(pids.length, 2)
      const sum = answered.reduce((one, other) => one + other, 0)
      assert.isAbove(sum, 0)
      assert.strictEqual(yield* metric(live), sum)

      process.kill(pids[0] ?? assert.fail("no process"), "SIGKILL")
      yield* logged("signal SIGKILL")
      yield* eventually(Effect.filterOrFail(metric("quotewire_processes"), (count) => count === 2))
      assert.strictEqual(yield* metric("quotewire_processes_replaced_total"), 1)

      child.kill("SIGTERM")
      const { code, stderr } = yield* Effect.promise(() => ended)
      assert.strictEqual(code, 0, stderr)
      assert.deepStrictEqual(output().trim(), JSON.stringify({ base_url }))
      assert.strictEqual(stderr.split("Ran the migrations").length, 2, stderr)
    })
  )

  it.live("stops on SIGTERM without resetting any open connection", () =>
    Effect.gen(function* () {
      const env = yield* database(emptyDatabase)
      for (let stops = 0; stops < 3; stops++) {
        const { base_url, child, ended } = yield* serving(env, "--migrate")
        let isOver = false
        const callers = Array.from({ length: 24 }, () => connecting(base_url, () => isOver))
        const stopping = Effect.gen(function* () {
          yield* Effect.promise(() => fetch(`${base_url}/health/live`))
          child.kill("SIGTERM")
          const { code, stderr } = yield* Effect.promise(() => ended)
          assert.strictEqual(code, 0, stderr)
          isOver = true
        })
        const [, ...outcomes] = yield* Effect.all([stopping, ...callers], { concurrency: "unbounded" })
        const seen = new Set(outcomes.flatMap((one) => [...one]))
        assert.deepStrictEqual([...seen].sort(), ["200", "refused"])
      }
    })
  )

  it.live("does not start without the schema, and prints the same message as a single process", () =>
    Effect.gen(function* () {
      const env = yield* database(emptyDatabase)
      const [two, one] = yield* Effect.all(
        ["2", "1"].map((processes) => run(["serve", "--port", "0", "--processes", processes], env)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(two, one)
      assert.match(two?.stderr ?? "", /^quotewire: The database schema .*\n$/)
    })
  )

  it.effect.each(["0", "65", "two", "-1", "1.5"])(
    "refuses to run %o processes, and states how many are allowed",
    (processes) =>
      Effect.gen(function* () {
        const QUOTEWIRE_DATABASE_URL = "postgres://quotewire@127.0.0.1:1/none"
        const QUOTEWIRE_SEAL_KEYS = randomBytes(32).toString("base64")
        const { err, how } = yield* runInProcess(["serve", "--processes", processes], {
          QUOTEWIRE_DATABASE_URL,
          QUOTEWIRE_SEAL_KEYS
        })
        assert.strictEqual(how, "wrong usage")
        assert.match(err, /^--processes \(or QUOTEWIRE_PROCESSES\) must be a whole number from 1 to 64, or auto/)
      })
  )
})
