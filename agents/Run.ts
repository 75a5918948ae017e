import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Client } from "./Client.ts"
import type { Heard, Model } from "./model/Server.ts"
import * as RecordingProxy from "./RecordingProxy.ts"

/** The run of one client: what reached the model and the host, and the outcome. */
export interface Run {
  readonly client: Client
  readonly heard: Heard
  readonly recorded: RecordingProxy.Recorded
  /** Whether the client's program showed the price of a quote at the end. */
  readonly finished: boolean
  readonly seconds: number
  /** What the program printed. */
  readonly printed: string
}

/** How long a client may run before it is stopped. */
const limitMs = 120_000

/** Runs the journey with one client, in a process with an empty home folder and no API keys. */
export const run = async (client: Client, model: Model, baseUrl: string): Promise<Run> => {
  const proxy = await RecordingProxy.open(baseUrl)
  const home = mkdtempSync(join(tmpdir(), "agents-"))
  const began = Date.now()
  const printed = await ended(
    spawn(process.execPath, [fileURLToPath(new URL(`${client.folder}/${client.program}`, import.meta.url))], {
      cwd: home,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      env: {
        PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
        HOME: home,
        MCP_URL: `${proxy.url}/v1/mcp`,
        MODEL_URL: model.url(client.id),
        ...client.env
      }
    })
  )
  await proxy.close()
  rmSync(home, { recursive: true, force: true })
  return {
    client,
    heard: model.heard(client.id),
    recorded: proxy.recorded,
    finished: /Done: \$[\d,]+\.\d\d/.test(printed),
    seconds: Math.round((Date.now() - began) / 1_000),
    printed
  }
}

/**
 * Waits for a program and returns what it printed. After the time limit, kills it together with all processes that it
 * started.
 */
const ended = (child: ReturnType<typeof spawn>): Promise<string> =>
  new Promise((resolve) => {
    let printed = ""
    const add = (chunk: Buffer) => {
      printed = (printed + chunk.toString()).slice(-20_000)
    }
    child.stdout?.on("data", add)
    child.stderr?.on("data", add)
    const end = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
      } catch {
        // It has exited on its own.
      }
    }
    const timer = setTimeout(() => {
      printed += `\nended after ${limitMs / 1_000} s`
      end()
    }, limitMs)
    child.once("error", (error) => {
      printed += error.message
    })
    child.once("close", () => {
      clearTimeout(timer)
      end()
      resolve(printed)
    })
  })
