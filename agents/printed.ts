import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

/** Runs a package's command with additional environment variables, and returns what it printed. */
export const printed = (
  file: URL,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(fileURLToPath(file), args, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env }
    })
    let text = ""
    child.stdout.on("data", (chunk) => {
      text += chunk
    })
    child.once("error", reject)
    child.once("close", () => resolve(text))
  })
