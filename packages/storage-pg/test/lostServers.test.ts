import { assert, layer } from "@effect/vitest"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect } from "effect"
import { eventually } from "../../../test/support/eventually.ts"
import { workspace } from "./support/hosts.ts"
import { type MovableCell, movableCell, moveUntil, openCells, reasonOf, step, TwoServers } from "./support/moves.ts"

const feedOf = (cells: PgCells.AllCells) =>
  Effect.scoped(
    Effect.gen(function* () {
      const host = yield* openCells(cells)
      const { events } = yield* host.feed({ workspace_id: workspace(2), after: 0, limit: 100 })
      return events.map(({ id }) => id)
    })
  )

const write = ({ cells }: MovableCell, version: number) =>
  Effect.scoped(Effect.flatMap(openCells(cells), (host) => host.commit(step(1, version))))

/** Runs something while a server is down. */
const without = <A, E, R>(end: "old" | "new", program: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const [first, second] = yield* TwoServers
    const server = end === "old" ? first : second
    yield* Effect.promise(() => server.stop("immediate"))
    return yield* Effect.ensuring(
      program,
      Effect.promise(() => server.startAgain())
    )
  })

const end = ({ cells }: MovableCell, lost: "old" | "new") => PgCells.endMoveWithout(cells, "home", lost)

layer(TwoServers.layer, { excludeTestServices: true, timeout: "60 seconds" })("a cell move", (it) => {
  it.effect("keeps the cell usable if the source server is lost after the cutover", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      yield* write(movable, 1)
      yield* moveUntil(movable, "switched")
      yield* write(movable, 2)
      yield* without(
        "old",
        Effect.map(feedOf(movable.cells), (ids) => assert.deepStrictEqual(ids, ["1 1", "1 2"]))
      )
      assert.strictEqual(yield* PgCells.move(movable.cells, "home"), "moved")
    })
  )

  it.effect.each(["following", "switched"] as const)(
    'continues on the target if the source is reported lost in the step "%s"',
    (last) =>
      Effect.gen(function* () {
        const movable = yield* movableCell
        yield* write(movable, 1)
        yield* moveUntil(movable, last)
        // A command that finds a decided move records it.
        if (last === "following") assert.match((yield* reasonOf(end(movable, "old"))).message, /old server responds/)
        yield* without(
          "old",
          Effect.gen(function* () {
            assert.strictEqual((yield* reasonOf(Effect.scoped(openCells(movable.cells)))).reason, "unreachable")
            assert.strictEqual(yield* end(movable, "old"), "kept_at_new")
            assert.strictEqual(yield* end(movable, "old"), "nothing")
            yield* write(movable, 2)
          })
        )
        // The source server is back, and hosts stay on the target database.
        yield* eventually(Effect.map(feedOf(movable.cells), (ids) => assert.deepStrictEqual(ids, ["1 1", "1 2"])))
      })
  )

  it.effect.each(["begun", "arriving", "published"] as const)(
    'cannot continue if the source is lost in the step "%s", because the target lacks tables',
    (last) =>
      Effect.gen(function* () {
        const movable = yield* movableCell
        yield* moveUntil(movable, last)
        const outcome = yield* without("old", Effect.result(end(movable, "old")))
        if (outcome._tag === "Failure") assert.match(outcome.failure.message, /does not have all of the cell's tables/)
        else assert.strictEqual(outcome.success, "nothing")
        assert.strictEqual(yield* PgCells.undoMove(movable.cells, "home"), "undone")
      })
  )

  it.effect("returns to the source if the target is reported lost after the cutover", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      yield* write(movable, 1)
      yield* moveUntil(movable, "switched")
      assert.match((yield* reasonOf(end(movable, "new"))).message, /new server responds/)
      yield* without(
        "new",
        Effect.gen(function* () {
          assert.strictEqual(yield* end(movable, "new"), "kept_at_old")
          yield* write(movable, 2)
        })
      )
      assert.deepStrictEqual(yield* feedOf(movable.cells), ["1 1", "1 2"])
    })
  )

  it.effect("explains what to do if the target is lost before the cutover or after the cleanup", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      yield* moveUntil(movable, "following")
      yield* without(
        "new",
        Effect.map(reasonOf(end(movable, "new")), ({ message }) => assert.match(message, /--undo/))
      )
      assert.strictEqual(yield* PgCells.move(movable.cells, "home"), "moved")
      yield* without(
        "new",
        Effect.map(reasonOf(end(movable, "new")), ({ message }) => assert.match(message, /backup/))
      )
    })
  )
})
