import { Effect } from "effect"
import type { NewJob } from "../../storage/Job.ts"
import { expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, optionalRule, rule } from "./storageRule.ts"

const inLane = (dueAt: number): NewJob =>
  Sample.job(dueAt, { kind: "deliver", lane: { name: "lane", limit: 2, urgent: false } })

/** Cases for what a storage reports about itself. */
export const reports: ReadonlyArray<Case> = [
  rule(
    "is ready",
    Effect.fnUntraced(function* (storage) {
      yield* storage.ready
    })
  ),
  optionalRule(
    "backlog",
    "counts the jobs that can be claimed, by kind",
    Effect.fnUntraced(function* (backlog, storage) {
      const counted = (now: number, limit = 100) =>
        Effect.map(backlog({ now, limit }), (kinds) =>
          kinds.map((backlogOfKind) => [backlogOfKind.kind, backlogOfKind.due, backlogOfKind.oldest_due_at])
        )
      expectSame("the count without jobs", yield* counted(1_000), [])
      const jobs = [
        ...[10, 20, 30].map((dueAt) => inLane(dueAt)),
        Sample.job(5, { kind: "collect" }),
        Sample.job(15, { kind: "collect" }),
        Sample.timer(7)
      ]
      yield* storage.commit(Sample.change({ jobs }))
      yield* storage.commit(
        Sample.change({ workspace_id: Sample.elsewhere, jobs: [inLane(2_000)], clock_offset_ms: 1_990 })
      )
      expectSame("the count before any job is due", yield* counted(4), [])
      const waiting = [
        ["close_request", 1, 7],
        ["collect", 2, 5],
        ["deliver", 3, 10]
      ]
      expectSame("the count of due jobs, whatever their workspace's clock", yield* counted(25), waiting)
      const some = yield* counted(9, 1)
      expectSame(
        "the count up to a limit of 1",
        some.reduce((sum, [, count]) => sum + Number(count), 0),
        1
      )
      const claim = yield* storage.claim(Sample.claimAt(25))
      expectSame(
        "the claimed jobs, and the count while all are leased",
        [claim.jobs.length, yield* counted(25)],
        [6, []]
      )
      yield* storage.release(claim.jobs.map(Sample.leaseOf))
      expectSame("the count after the jobs are released", yield* counted(25), waiting)
    })
  ),
  optionalRule(
    "processes",
    "lists the connected processes by name, each once",
    Effect.fnUntraced(function* (processes) {
      const names = (yield* processes).map(({ name }) => name)
      expectTrue("every process has a name", !names.includes(""))
      expectSame("the names", names, [...new Set(names)].sort())
    })
  ),
  optionalRule(
    "moving",
    "reports that its data is not being moved",
    Effect.fnUntraced(function* (moving) {
      expectSame("whether data is being moved", yield* moving, false)
    })
  ),
  optionalRule(
    "cells",
    "has cells with different names that are ready, and each workspace in one of them",
    Effect.fnUntraced(function* (cells, storage) {
      const workspaces = Sample.range(1, 12).map(Sample.workspace)
      for (const workspace_id of workspaces) {
        yield* storage.commit(Sample.change({ workspace_id, events: [Sample.event(1)] }))
      }
      expectSame("how many names there are", new Set(cells.map(({ name }) => name)).size, cells.length)
      const found = yield* Effect.forEach(cells, (cell) => Effect.andThen(cell.ready, cell.workspaces(null, 100)))
      expectSame("the workspaces of all cells", found.flat().toSorted(), workspaces)
      for (const { moving } of cells)
        expectSame("whether a cell is being moved", yield* moving ?? Effect.succeed(false), false)
    })
  )
]
