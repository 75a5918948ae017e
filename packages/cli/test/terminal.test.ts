import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Console, Effect, Layer, Option, Stdio, Terminal } from "effect"
import { TerminalCapabilities } from "effect/cli"
import * as Telemetry from "../src/service/Telemetry.ts"
import { variableOf } from "../src/settings/Settings.ts"
import { examplesOf } from "../src/terminal/Examples.ts"
import * as Output from "../src/terminal/Output.ts"
import { errorStyle, ofStatus, style } from "../src/terminal/Style.ts"
import { leavesBelow } from "./support/help.ts"
import { runInProcess } from "./support/inProcess.ts"

describe("a command's help", () => {
  it.effect("has examples with flags and arguments that the command accepts", () =>
    Effect.gen(function* () {
      const leaves = yield* leavesBelow([])
      assert.isNotEmpty(leaves)
      for (const { args, flags, path } of leaves) {
        const name = ["quotewire", ...path].join(" ")
        const examples = examplesOf(["quotewire", ...path])
        assert.isNotEmpty(examples, `${name} has no example`)
        for (const { command } of examples) {
          assert.isTrue(command === name || command.startsWith(`${name} `), command)
          const known = new Map(flags.map((flag) => [`--${flag.name}`, flag.type]))
          const words =
            command
              .slice(name.length)
              .replace(/ < .*/, "")
              .match(/"[^"]*"|\S+/g) ?? []
          let given = 0
          for (let at = 0; at < words.length; at++) {
            const word = words[at] ?? ""
            if (!word.startsWith("--")) given += 1
            else {
              assert.isTrue(known.has(word), `${command}: ${word}`)
              if (known.get(word) !== "boolean") at += 1
            }
          }
          // Settings with a variable may come from the environment.
          const missing = flags.filter(
            ({ description = "", name, required }) =>
              required &&
              !`${command} `.includes(` --${name} `) &&
              !String(description).includes(`[${variableOf(name)}]`)
          )
          assert.deepStrictEqual(missing, [], command)
          assert.isAtMost(given, args.length, command)
          assert.isAtLeast(given, args.filter(({ required }) => required).length, command)
        }
      }
    })
  )
})

describe("terminal styling", () => {
  const capable = (canColor: boolean) =>
    Effect.provideService(style, TerminalCapabilities.TerminalCapabilities, {
      canColor,
      canAnimate: false,
      canPrompt: false
    })

  it.effect("colors failures red and open states yellow, unless colors are off", () =>
    Effect.gen(function* () {
      const [colored, plain] = [yield* capable(true), yield* capable(false)]
      assert.strictEqual(ofStatus(colored, "503")("line"), "\u001b[31mline\u001b[0m")
      assert.strictEqual(ofStatus(colored, "half_open")("line"), "\u001b[33mline\u001b[0m")
      assert.strictEqual(ofStatus(colored, "a new status")("line"), "line")
      assert.strictEqual(ofStatus(plain, "503")("line"), "line")
      assert.strictEqual(plain.bold("Quotewire"), "Quotewire")
    })
  )
})

describe("a command's error message", () => {
  const styled = (stderrIsTerminal: boolean, env: Record<string, string>) =>
    Effect.map(errorStyle, ({ red }) => red("error")).pipe(
      Effect.provide(Stdio.layerTest({ stderrIsTerminal: Effect.succeed(stderrIsTerminal) })),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
    )
  const colored = "\u001b[31merror\u001b[0m"

  it.effect("is red at a terminal or with FORCE_COLOR, but not with NO_COLOR or TERM=dumb", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* styled(true, {}), colored)
      assert.strictEqual(yield* styled(false, {}), "error")
      assert.strictEqual(yield* styled(true, { NO_COLOR: "1" }), "error")
      assert.strictEqual(yield* styled(true, { TERM: "dumb" }), "error")
      assert.strictEqual(yield* styled(false, { FORCE_COLOR: "1" }), colored)
    })
  )

  it.effect("is red for both wrong arguments and failed commands", () =>
    Effect.gen(function* () {
      const env = { FORCE_COLOR: "1" }
      const wrong = yield* runInProcess(["profiles", "lsit"], env)
      const failed = yield* runInProcess(["logout", "--profile", "nobody"], { ...env, XDG_CONFIG_HOME: "/nonexistent" })
      for (const { err } of [wrong, failed]) {
        assert.isTrue(err.startsWith("\u001b[31m"), err)
        assert.include(err, "\u001b[0m")
      }
    })
  )
})

describe("a host's log", () => {
  /** The lines of the log for a call and a warning, at a terminal or elsewhere. */
  const logged = Effect.fnUntraced(function* (
    isTerminal: boolean,
    variables: { readonly [name: string]: string },
    why: unknown = "x ".repeat(40)
  ) {
    const err: Array<string> = []
    const console: Console.Console = Object.assign(Object.create(globalThis.console), {
      error: (text: string) => void err.push(text)
    })
    const terminal = Terminal.make({
      columns: Effect.succeed(200),
      rows: Effect.succeed(24),
      size: Effect.die("Nothing asks for the size."),
      readInput: Effect.die("Nothing reads."),
      readLine: Effect.die("Nothing reads."),
      display: () => Effect.void
    })
    yield* Effect.gen(function* () {
      yield* Effect.annotateLogs(Effect.logInfo("start_quote_request  12 ms"), { status: 202 })
      yield* Effect.annotateLogs(Effect.logWarning("A carrier timed out"), { carrier_id: "acme", why })
    }).pipe(
      Effect.provide(Telemetry.layer({ log_format: "auto", otlp_url: Option.none() })),
      Effect.provide(Stdio.layerTest({ stderrIsTerminal: Effect.succeed(isTerminal) })),
      Effect.provideService(Terminal.Terminal, terminal),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: variables })),
      Effect.provideService(Console.Console, console)
    )
    return err.join("\n").split("\n")
  })

  it.effect("can contain values that JSON cannot represent", () =>
    Effect.gen(function* () {
      const circle: { self?: unknown } = {}
      circle.self = circle
      for (const value of [circle, 12n, Symbol("id"), undefined]) {
        assert.include((yield* logged(true, { NO_COLOR: "1" }, value)).join("\n"), "A carrier timed out")
      }
    })
  )

  it.effect("starts each line with the time and status at a terminal, and fits 80 columns", () =>
    Effect.gen(function* () {
      const [call = "", ...warning] = yield* logged(true, { NO_COLOR: "1" })
      assert.match(call, /^\d\d:\d\d:\d\d {2}\u2713 {2}202 {2}start_quote_request {2}12 ms$/)
      assert.match(warning[0] ?? "", /^\d\d:\d\d:\d\d {2}! {2}warn {2}A carrier timed out/)
      assert.isAbove(warning.length, 1)
      for (const line of warning) assert.isAtMost(line.length, 80)
      const [colored = ""] = yield* logged(true, {})
      assert.include(colored, "\u001b[32m")
    })
  )

  it.effect("is in logfmt without a terminal", () =>
    Effect.gen(function* () {
      const [call = ""] = yield* logged(false, {})
      assert.match(call, /^timestamp=\S+ level=INFO .*status=202/)
    })
  )
})

describe("a command's output", () => {
  /** The output at a terminal of this width, or without a terminal. */
  const printed = Effect.fnUntraced(function* (width: number | null, ...lines: ReadonlyArray<string>) {
    const out: Array<string> = []
    const console: Console.Console = Object.assign(Object.create(globalThis.console), {
      log: (text: string) => void out.push(text)
    })
    const terminal = Terminal.make({
      columns: Effect.succeed(width ?? 0),
      rows: Effect.succeed(24),
      size: Effect.die("Nothing asks for the size."),
      readInput: Effect.die("Nothing reads."),
      readLine: Effect.die("Nothing reads."),
      display: () => Effect.void
    })
    yield* Output.lines(lines).pipe(
      Effect.provide(Stdio.layerTest({ stdoutIsTerminal: Effect.succeed(width !== null) })),
      Effect.provide(Layer.succeed(Terminal.Terminal, terminal)),
      Effect.provideService(Console.Console, console)
    )
    return out.join("\n").split("\n")
  })
  const id = `org_${"0".repeat(26)}`
  const row = `${id}  The very long name of an organization  sandbox  ${"x".repeat(50)}`

  it.effect("fits a terminal's width by breaking lines between columns or words", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* printed(null, row), [row])
      assert.deepStrictEqual(yield* printed(200, row), [row])
      assert.deepStrictEqual(yield* printed(60, row), [
        id,
        "    The very long name of an organization  sandbox",
        `    ${"x".repeat(50)}`
      ])
      assert.deepStrictEqual(yield* printed(30, row), [
        id.slice(0, 30),
        "    The very long name of an",
        "    organization  sandbox",
        `    ${"x".repeat(26)}`,
        `    ${"x".repeat(24)}`
      ])
      for (const line of yield* printed(20, `  ${"漢字".repeat(40)}`)) assert.isAtMost(line.length, 13)
    })
  )

  it.effect("escapes control and hidden characters in external text", () =>
    Effect.gen(function* () {
      const name = "Acme\u001b[2J\u202egro\u{e0041}\nquotewire: fine\u009b1m"
      const shown = "Acme\\u{1b}[2J\\u{202e}gro\\u{e0041}\\u{a}quotewire: fine\\u{9b}1m"
      assert.deepStrictEqual(yield* printed(null, name), [shown])
      let json = ""
      const console: Console.Console = Object.assign(Object.create(globalThis.console), {
        log: (text: string) => {
          json = text
        }
      })
      yield* Effect.provideService(Output.json({ name }), Console.Console, console)
      assert.match(json, /^[ -~]+$/)
      assert.deepStrictEqual(JSON.parse(json), { name })
    })
  )
})
