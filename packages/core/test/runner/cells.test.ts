import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as Quotewire from "../../src/Quotewire.ts"
import { Retention } from "../../src/runner/Retention.ts"
import type { Change } from "../../src/storage/Change.ts"
import { type Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { requests } from "../calls/support.ts"
import { prompt } from "../quoting/carriers.ts"
import { list, live, pass, read, start, testInWorld, work } from "../support/world.ts"

const hourMs = 3_600_000
const minuteMs = 60_000

/** Two cells, each with one of the world's workspaces. One can become unavailable. */
const twoCells = () => {
  const state = { lost: "", ofLost: "", refuses: (_: Change) => false }
  const swept: Array<string> = []
  const unavailable = new StorageUnavailable({ retry_after_seconds: 1, cell: "lost" })
  const around = (storage: Storage["Service"]): Storage["Service"] => {
    const cellOf = (name: string, isIn: (id: string) => boolean) => ({
      name,
      ready: Effect.suspend(() => (state.lost === name ? Effect.fail(unavailable) : Effect.void)),
      workspaces: (after: Parameters<typeof storage.workspaces>[0], limit: number) =>
        state.lost === name
          ? Effect.fail(unavailable)
          : Effect.map(storage.workspaces(after, limit), (ids) => ids.filter(isIn))
    })
    return {
      ...storage,
      cells: [cellOf("one", (id) => id === state.ofLost), cellOf("other", (id) => id !== state.ofLost)],
      erase: (erasure) => {
        if (erasure.what === "events") swept.push(erasure.workspace_id)
        return storage.erase(erasure)
      },
      commit: (change) =>
        Effect.suspend(() =>
          change.workspace_id === state.ofLost && state.refuses(change)
            ? Effect.fail(unavailable)
            : storage.commit(change)
        )
    }
  }
  return { state, swept, around }
}

describe("after the loss of a cell", () => {
  testInWorld("old data is erased in the other cells, and in the lost cell once it is back", () => {
    const { around, state, swept } = twoCells()
    return {
      around,
      body: Effect.gen(function* () {
        const { workspaces } = (yield* World).organization
        state.ofLost = workspaces.sandbox
        state.lost = "one"
        yield* Effect.forkScoped((yield* Retention).forever)
        // A millisecond less than an hour, so that no workspace's minute comes twice.
        yield* pass(hourMs - 1)
        assert.deepStrictEqual(swept, [workspaces.live])
        state.lost = ""
        yield* pass(minuteMs)
        assert.include(swept, workspaces.sandbox)
      })
    }
  })

  testInWorld("a host stays ready, and names the lost cell", () => {
    const { around, state } = twoCells()
    return {
      around,
      body: Effect.gen(function* () {
        state.lost = "one"
        assert.isTrue(yield* Quotewire.ready)
        assert.deepStrictEqual(yield* Quotewire.cells, [
          { name: "one", ready: false },
          { name: "other", ready: true }
        ])
      })
    }
  })

  testInWorld("the request log records calls of workspaces in other cells", () => {
    const { around, state } = twoCells()
    return {
      around,
      body: Effect.gen(function* () {
        state.ofLost = (yield* World).organization.workspaces.live
        state.refuses = () => true
        yield* list({}, live)
        for (let calls = 0; calls < 3; calls++) {
          yield* list()
          yield* pass(1_000)
        }
        assert.lengthOf((yield* requests({ limit: 100 })).requests, 3)
      })
    }
  })

  testInWorld("the runner does not pause, because other cells may have work", () => {
    const { around, state } = twoCells()
    return {
      around,
      carriers: [prompt("first").adapter],
      body: Effect.gen(function* () {
        yield* work
        yield* pass(1_000)
        state.ofLost = (yield* World).organization.workspaces.live
        let refused = 0
        state.refuses = ({ finishes }) => finishes.length > 0 && ++refused === 1
        yield* start({}, live)
        yield* pass(0)
        assert.isAtLeast(refused, 1)
        const { id } = yield* start({}, live)
        yield* pass(0)
        assert.strictEqual((yield* read(id, live)).quote_request.status_details.reason, "quotes_ready")
      })
    }
  })
})
