import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as OperatorClient from "../../remote/OperatorClient.ts"
import * as OperatorSettings from "../../settings/OperatorSettings.ts"
import { reportAllErrors } from "../../settings/Parameters.ts"
import * as Settings from "../../settings/Settings.ts"
import * as Output from "../../terminal/Output.ts"

/** A host's report about whether due jobs are being run. */
interface Report {
  readonly next_due_at: string | null
  readonly waits_ms: number
  readonly backlog: ReadonlyArray<{
    readonly kind: string
    readonly due: number
    readonly oldest_due_at: string
  }> | null
  readonly processes: ReadonlyArray<{ readonly name: string; readonly since: string }> | null
  readonly cells: ReadonlyArray<{ readonly name: string; readonly ready: boolean; readonly moving: boolean }>
}

const linesOf = ({ backlog, cells, next_due_at, processes, waits_ms }: Report): ReadonlyArray<string> => [
  waits_ms === 0 ? "No jobs are overdue." : `The oldest due job has waited ${Math.ceil(waits_ms / 1_000)} s.`,
  ...(next_due_at === null ? [] : [`Next job: ${next_due_at}`]),
  ...(backlog ?? []).map(({ due, kind, oldest_due_at }) => `${kind}: ${due} due, the oldest since ${oldest_due_at}`),
  ...(processes ?? []).map(({ name, since }) => `Process ${name}, connected since ${since}`),
  ...cells.map(
    ({ moving, name, ready }) => `Cell ${name}: ${ready ? "ready" : "not reachable"}${moving ? ", being moved" : ""}`
  )
]

/** `quotewire status` prints whether a host's due jobs are being run. */
export const status = Command.make(
  "status",
  reportAllErrors({
    operator_token: OperatorSettings.operatorToken,
    base_url: Flag.withDefault(Settings.calledUrl, Settings.localUrl),
    json: Settings.json
  }),
  (settings) =>
    Effect.gen(function* () {
      const report = yield* OperatorClient.callWithAdvice<Report>(settings, "get_work", {})
      yield* Output.result(settings, report, linesOf(report))
    })
).pipe(Command.withDescription("Check whether a host runs its due jobs"))
