import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Change } from "@quotewire/core"
import { cores, onCore } from "../Child.ts"
import { median } from "../statistics.ts"
import type { WriteRound } from "./changesClient.ts"
import * as sameRows from "./sameRows.ts"

const run = promisify(execFile)

/** Whether pgbench is installed on this machine. */
export const isThere = (): Promise<boolean> =>
  run("pgbench", ["--version"]).then(
    () => true,
    () => false
  )

/** What pgbench writes, and for how long. */
export interface Load {
  readonly url: string
  readonly sample: Change.Change
  readonly workspaces: number | "own"
  readonly connections: number
  readonly seconds: number
}

/** Creates the pgbench script. Each text is a variable, so that pgbench sends it with each statement. */
const scriptOf = ({ sample, workspaces }: Load): string => {
  const place = workspaces === "own" ? ":client_id + 1" : `random(1, ${workspaces})`
  const text = sameRows.statement(sample).replaceAll(/\$(\d+)/g, (_, n) => `:p${n}`)
  return `\\set p1 ${place}\n${text.replaceAll(/\s*\n\s*/g, " ")};\n`
}

/** Writes changes with pgbench, each with one prepared statement. */
export const write = async (load: Load): Promise<WriteRound> => {
  const folder = mkdtempSync(join(tmpdir(), "quotewire-pgbench-"))
  try {
    const script = join(folder, "script.sql")
    writeFileSync(script, scriptOf(load))
    const texts = sameRows.textsOf(load.sample).flatMap((text, index) => ["-D", `p${index + 2}=${text}`])
    const flags = [
      "-n",
      "-M",
      "prepared",
      "-f",
      script,
      "-c",
      `${load.connections}`,
      "-j",
      "1",
      "-T",
      `${load.seconds}`
    ]
    const log = ["--log", `--log-prefix=${join(folder, "log")}`]
    const [program = "", ...rest] = onCore(cores.load, ["pgbench", ...flags, ...log, ...texts, load.url])
    const { stdout } = await run(program, rest)
    const per_second = Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
    if (Number.isNaN(per_second)) throw new Error(`pgbench says: ${stdout}`)
    const logs = readdirSync(folder).filter((name) => name.startsWith("log."))
    const micros = logs.flatMap((name) =>
      readFileSync(join(folder, name), "utf8")
        .trim()
        .split("\n")
        .map((line) => Number(line.split(" ")[2]))
    )
    return { per_second, p50_ms: median(micros) / 1e3 }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
