import { NodeServices } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { CliOutput, Command, type HelpDoc } from "effect/cli"
import { load } from "../../src/Program.ts"

/** A runnable command, and its parameters. */
export interface Leaf {
  readonly path: ReadonlyArray<string>
  readonly flags: ReadonlyArray<HelpDoc.FlagDoc>
  readonly args: ReadonlyArray<HelpDoc.ArgDoc>
}

const helpOf = Effect.fnUntraced(function* (path: ReadonlyArray<string>) {
  let help: HelpDoc.HelpDoc | undefined
  const presenter: CliOutput.Presenter = {
    present: (event) =>
      Effect.sync(() => {
        if (event._tag === "Help") help = event.helpDoc
      })
  }
  const args = [...path, "--help"]
  yield* Effect.flatMap(load(args), (quotewire) => Command.runWith(quotewire, { version: "" })(args)).pipe(
    Effect.provideService(CliOutput.Presenter, presenter),
    Effect.provide(NodeServices.layer)
  )
  return help ?? assert.fail(`no help for ${path.join(" ")}`)
})

/** The runnable commands below a path. */
export const leavesBelow = (path: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Leaf>> =>
  Effect.gen(function* () {
    const help = yield* Effect.orDie(helpOf(path))
    const names = (help.subcommands ?? []).flatMap(({ commands }) => commands.map(({ name }) => name))
    if (names.length === 0) {
      const flags = [...help.flags, ...(help.inheritedFlags ?? []), ...(help.globalFlags ?? [])]
      return [{ path, flags, args: help.args ?? [] }]
    }
    return (yield* Effect.forEach(names, (name) => leavesBelow([...path, name]))).flat()
  })
