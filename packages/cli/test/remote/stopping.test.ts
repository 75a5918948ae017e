import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runInProcess } from "../support/inProcess.ts"
import { start, stopped } from "../support/program.ts"
import { host, receiver } from "../support/servedHost.ts"

/** The shipped command, in a separate process. */
const program = (args: ReadonlyArray<string>, env: Record<string, string>) =>
  Effect.acquireRelease(
    Effect.sync(() => start(args, env)),
    ({ child }) => Effect.promise(() => stopped(child))
  )

describe("a command that prints until it is stopped", () => {
  it.live("exits immediately on Ctrl-C, with exit code 0", () =>
    Effect.gen(function* () {
      const { env } = yield* host
      const { url } = yield* receiver(204)
      const { child, ended, output } = yield* program(["listen", "--forward-to", url], env)
      yield* Effect.promise(async () => {
        while (!output().includes("Press Ctrl-C")) await once(child.stdout, "data")
        child.kill("SIGINT")
      })
      const { code, stderr } = yield* Effect.promise(() => ended)
      assert.strictEqual(code, 0, stderr)
    })
  )

  it.live("exits quietly when its output is closed", () =>
    Effect.gen(function* () {
      const { env, startOne } = yield* host
      yield* startOne
      const { child, ended } = yield* program(["events", "tail", "--since", "start"], env)
      yield* Effect.promise(() => once(child.stdout, "data"))
      child.stdout.destroy()
      yield* startOne
      const { code, stderr } = yield* Effect.promise(() => ended)
      assert.deepStrictEqual([code, stderr], [0, ""])
    })
  )
})

describe("quotewire --completions", () => {
  it.live("prints a shell script that contains the commands and flags", () =>
    Effect.gen(function* () {
      const { out } = yield* runInProcess(["--completions", "bash"], {})
      // Requests the completions of `quotewire li` and `quotewire listen --forw`, as a shell does.
      const asked = (words: ReadonlyArray<string>) => `
        COMP_WORDS=(quotewire ${words.join(" ")}); COMP_CWORD=${words.length}; COMP_LINE="quotewire ${words.join(" ")}"
        COMP_WORDBREAKS=' '
        _quotewire quotewire "${words.at(-1)}" ""; echo "\${COMPREPLY[*]}"`
      const script = `${out}\n${asked(["li"])}\n${asked(["listen", "--forw"])}`
      const said = execFileSync("bash", ["-c", script], { encoding: "utf8" })
      assert.deepStrictEqual(said.trim().split("\n"), ["listen", "--forward-to"])
    })
  )

  it.live("accepts only known shells", () =>
    Effect.gen(function* () {
      const { err, how } = yield* runInProcess(["--completions", "basic"], {})
      assert.strictEqual(how, "wrong usage")
      assert.include(err, "--completions must be bash, zsh, fish or powershell.")
    })
  )
})

describe("a misspelled command", () => {
  it.live("causes an error that suggests the closest command", () =>
    Effect.gen(function* () {
      for (const [typed, meant] of [
        [["lissten"], "listen"],
        [["trigge"], "trigger"],
        [["events", "tial"], "tail"],
        [["quotes", "shov"], "show"]
      ] as const) {
        const { err, how } = yield* runInProcess(typed, {})
        assert.strictEqual(how, "wrong usage")
        assert.include(err, `There is no such command; the closest is ${meant}.`)
      }
    })
  )
})
