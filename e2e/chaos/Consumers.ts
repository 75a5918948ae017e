import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { after } from "./Hosts.ts"
import { Lock } from "./Lock.ts"

const program = fileURLToPath(new URL("consumer.ts", import.meta.url))

const restsMs = 300

/** One of the processes that share a consumer name. It is restarted whenever it ends. */
export interface Consumer {
  readonly lock: Lock
  readonly kill: () => Promise<void>
  readonly pause: (ms: number) => Promise<void>
}

const supervised = (env: Readonly<Record<string, string>>) => {
  let child: ChildProcess | null = null
  let isOver = false
  const keepUp = async () => {
    while (!isOver) {
      const stdio = ["ignore", "ignore", "ignore", "ipc"] as const
      child = spawn(process.execPath, [program], { env: { ...process.env, ...env }, stdio: [...stdio] })
      await once(child, "exit")
      await after(restsMs)
    }
  }
  const running = keepUp()
  return {
    lock: new Lock(),
    kill: async () => void child?.kill("SIGKILL"),
    pause: async (ms: number) => {
      const paused = child
      paused?.kill("SIGSTOP")
      await after(ms)
      paused?.kill("SIGCONT")
    },
    close: () => {
      isOver = true
      child?.kill("SIGKILL")
      return running
    }
  }
}

/** Starts a consumer in two processes, and records the events that it handles. */
export const open = async (env: Readonly<Record<string, string>>) => {
  const handled: Array<string> = []
  const sink = createServer(async (request, response) => {
    const id = await text(request).catch(() => null)
    if (id === null) return void response.destroy()
    handled.push(id)
    response.writeHead(204).end()
  })
  await new Promise<void>((listening) => sink.listen(0, "127.0.0.1", listening))
  const address = sink.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const all = { ...env, CHAOS_SINK: `http://127.0.0.1:${port}` }
  const processes = [supervised(all), supervised(all)] as const
  return {
    /** The handled events, in order; some of them more than once. */
    handled: handled as ReadonlyArray<string>,
    processes: processes as readonly [Consumer, Consumer],
    close: async () => {
      await Promise.all(processes.map(({ close }) => close()))
      sink.closeAllConnections()
      sink.close()
    }
  }
}

/** A running consumer. */
export type OpenConsumers = Awaited<ReturnType<typeof open>>
