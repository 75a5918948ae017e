import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { connect } from "node:net"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"

const module = fileURLToPath(new URL("support/PostgresServer.ts", import.meta.url))

const program = `
  const { PostgresServer } = await import(${JSON.stringify(module)})
  const { folder, port } = await PostgresServer.start({ durable: false })
  console.log(JSON.stringify({ folder, port }))
  setInterval(() => {}, 1000)
`

/** Whether somebody listens. */
const answers = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => resume(Effect.succeed(true)))
    socket.once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => socket.destroy())
  })

describe("a PostgreSQL for tests and benches", () => {
  it.live("ends with the process that started it, and leaves nothing behind, even if that is killed", () =>
    Effect.gen(function* () {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", program])
      const { folder, port } = yield* Effect.promise(async () => {
        const [line] = await once(child.stdout, "data")
        return JSON.parse(String(line))
      })
      assert.isTrue(yield* answers(port))
      child.kill("SIGKILL")
      yield* Effect.repeat(
        Effect.sync(() => existsSync(folder)),
        { while: (isThere) => isThere, schedule: Schedule.spaced(50) }
      )
      assert.isFalse(yield* answers(port))
    })
  )
})
