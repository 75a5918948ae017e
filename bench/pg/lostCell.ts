import { Access, Quotewire, Storage } from "@quotewire/core"
import { PgCells } from "@quotewire/storage-pg"
import { Context, Effect, Layer, Redacted, Scope } from "effect"
import { statements } from "../../test/support/TestDatabase.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import { percentile } from "../statistics.ts"
import { using, wait } from "./cellServers.ts"

/*
 * Measures what callers notice while one of four servers is down: `npx node bench/pg/lostCell.ts`, after a build. It takes two minutes.
 *
 * Each server has one cell. This process is the only host: it answers calls and runs jobs. It starts quote requests at a steady
 * rate, for the workspaces of all cells in turn.
 */

const [down_seconds = 20, per_second = 40] = process.argv.slice(2).map(Number)
const patience_seconds = 60
const organizations = 24

interface Phase {
  readonly others: Array<number>
  readonly lost: { done: number; refused: number; longest_ms: number }
}
const newPhase = (): Phase => ({ others: [], lost: { done: 0, refused: 0, longest_ms: 0 } })

await using(4, 4, async ({ cells, servers }) => {
  const lostServer = servers[2]
  const lostCell = cells[2]
  if (lostServer === undefined || lostCell === undefined) throw new Error("There are four")
  const database = Redacted.value(lostCell.url)
  const scope = Scope.makeUnsafe()
  const layer = Layer.provideMerge(Quotewire.worker, Service.layerOn(Layer.orDie(PgCells.layer(cells))))
  const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
  const run = Effect.runPromiseWith(context)
  const access = Context.get(context, Access.Access)
  const storage = Context.get(context, Storage.Storage)

  const callers: Array<{ readonly key: string; readonly isLost: boolean }> = []
  for (let made = 0; made < organizations; made++) {
    const { id, workspaces } = await run(access.createOrganization(`Bench ${made}`))
    const { key } = await run(access.createKey({ organization_id: id, environment: "sandbox", kind: "server" }))
    const found = await statements(
      database,
      `select from ${lostCell.schema}.workspace where workspace_id = '${workspaces.sandbox}'`
    )
    callers.push({ key, isLost: found.length > 0 })
  }

  let phase = newPhase()
  let n = 0
  let isOver = false
  const send = async () => {
    const caller = callers[n++ % callers.length]
    if (caller === undefined) return
    const into = phase
    const sent_at = performance.now()
    const call = Service.call(Service.start_quote_request, caller.key, starts.smallest(`request-${n}`))
    const isDone = await run(Effect.isSuccess(Effect.sandbox(call)))
    const took_ms = performance.now() - sent_at
    if (!caller.isLost) into.others.push(isDone ? took_ms : Number.POSITIVE_INFINITY)
    else {
      into.lost[isDone ? "done" : "refused"]++
      into.lost.longest_ms = Math.max(into.lost.longest_ms, took_ms)
    }
  }
  const sending = (async () => {
    for (let due = performance.now(); !isOver; due += 1e3 / per_second) {
      await wait(Math.max(0, due - performance.now()) / 1e3)
      void send()
    }
  })()

  const tell = (name: string, { lost, others }: Phase) => {
    const all = Float64Array.from(others).sort()
    const failed = others.filter((ms) => ms === Number.POSITIVE_INFINITY).length
    const [p50, p99] = [percentile(all, 0.5), percentile(all, 0.99)]
    console.log(
      `${name}: others p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${others.length}, ${failed} failed; lost cell ${lost.done} done, ${lost.refused} refused, longest ${lost.longest_ms.toFixed(0)} ms`
    )
  }
  const during = async (name: string, work: () => Promise<unknown>) => {
    phase = newPhase()
    const own = phase
    await work()
    tell(name, own)
  }

  phase = newPhase()
  await wait(10)
  await during("before", () => wait(down_seconds))
  await lostServer.stop("immediate")
  await during(`${down_seconds} s down`, () => wait(down_seconds))
  const back_at = performance.now()
  await lostServer.startAgain()
  await during("catching up", async () => {
    const late = `select count(*)::int as late from ${lostCell.schema}.job where ready_at < extract(epoch from now()) * 1000 - 1000`
    for (;;) {
      const [row] = await statements(database, late)
      const isReady = await run(Effect.map(Quotewire.cells, (all) => all.every(({ ready }) => ready)))
      const after_s = (performance.now() - back_at) / 1e3
      if (row?.late === 0 && isReady)
        return console.log(`caught up ${after_s.toFixed(1)} s after the start of the server began`)
      if (after_s > patience_seconds) throw new Error(`${row?.late} jobs are late after ${patience_seconds} s`)
      await wait(0.2)
    }
  })
  await during("after", () => wait(down_seconds))
  isOver = true
  await sending
  await run(storage.ready)
  await Effect.runPromise(Scope.close(scope, Effect.runSyncExit(Effect.void)))
})
