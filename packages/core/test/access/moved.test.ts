import { assert, describe, it } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Exit, Layer, Option, Schema } from "effect"
import { Access } from "../../src/access/Access.ts"
import * as ReadHandle from "../../src/access/ReadHandle.ts"
import { Seal, SealKeys, withSealing } from "../../src/access/sealing/Seal.ts"
import * as Fingerprint from "../../src/calls/Fingerprint.ts"
import { kinds } from "../../src/kinds.ts"
import * as operations from "../../src/operations.ts"
import * as Change from "../../src/storage/Change.ts"
import { eachPage, Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { QuoteRequestId, WorkspaceId } from "../../src/wire/Ids.ts"
import { advance, getQuote, read, refusal, runDue, start, testInWorld } from "../support/world.ts"
import { create, endpoints } from "../webhooks/support.ts"

/*
 * An attacker with write access to the database copies rows to another place. Whatever is sealed or hashed in them is useless there.
 */

const layer = Seal.layer.pipe(
  Layer.provide(SealKeys.layerEphemeral),
  Layer.provide(NodeCrypto.layer),
  Layer.provideMerge(MemoryStorage.layer)
)

const workspaceIds = ["1", "2"].map((end) => WorkspaceId.make(`wks_${end.padStart(26, "0")}`))
const requestIds = ["1", "2"].map((end) => QuoteRequestId.make(`qreq_${end.padStart(26, "0")}`))
const workspaceId = Schema.Literals(workspaceIds)
const id = Schema.Literals(requestIds)

const times = { created_at: 0, updated_at: 0 }
const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** A storage backend that responds to every read with the last written row, as if it had been copied there. */
const copying = (storage: Storage["Service"]): Storage["Service"] => {
  let copied = ""
  return {
    ...storage,
    commit: ({ writes }) =>
      Effect.sync(() => {
        copied = writes.at(-1)?.body ?? ""
      }),
    get: ({ id, kind, version = 1 }) =>
      Effect.sync(() => Option.some(Change.record({ kind, id, version, body: copied, ...times })))
  }
}

describe("sealed data that was copied elsewhere", () => {
  const names = kinds.all.flatMap(({ name, sealed }) => (sealed ? [name] : []))
  const Place = Schema.Struct({
    workspace_id: workspaceId,
    kind: Schema.Literals(names),
    id: Schema.Literals(["a", "b", "a b", "a b 1"]),
    version: Schema.Literals([1, 2])
  })

  it.effect.prop(
    "cannot be opened in another workspace, or as another kind, id or version",
    [Place, Place, Schema.Literals(["workspace_id", "kind", "id", "version", "none", "all"])],
    ([from, other, differs]) =>
      Effect.gen(function* () {
        const storage = withSealing(copying(yield* Storage), yield* Seal, kinds)
        const { workspace_id, ...place } = from
        const writes = [Change.record({ ...place, body: "{}", ...times })]
        yield* storage.commit(Change.make(workspace_id, { writes }))
        const to = differs === "all" ? other : differs === "none" ? from : { ...from, [differs]: other[differs] }
        const opened = Option.map(yield* storage.get(to), ({ body }) => body)
        assert.strictEqual(Option.getOrNull(opened), isEqual(from, to) ? "{}" : null)
      }).pipe(Effect.provide(layer))
  )

  const Request = Schema.Struct({ workspace_id: workspaceId, id })
  it.effect.prop("is not accepted as another request's read handle", [Request, Request], ([from, to]) =>
    Effect.gen(function* () {
      const seal = yield* Seal
      const handle = (yield* ReadHandle.derive(seal, from, null)) ?? ""
      const kept = yield* ReadHandle.toStoredHandle(seal, from, handle, 0)
      assert.strictEqual(yield* ReadHandle.isValid(seal, { ...to, handle, now: 0 }, kept), isEqual(from, to))
      assert.strictEqual((yield* ReadHandle.derive(seal, to, kept.check)) === handle, isEqual(from, to))
    }).pipe(Effect.provide(layer))
  )

  const Record = Schema.Struct({
    workspace_id: workspaceId,
    kind: Schema.Literals(["a", "b"]),
    id: Schema.Literals(["a", "b"])
  })
  it.effect.prop("is not accepted as another call's fingerprint", [Record, Record], ([from, to]) =>
    Effect.gen(function* () {
      const seal = yield* Seal
      const fingerprint = yield* Fingerprint.of(seal, from, { a: 1 })
      assert.strictEqual(yield* Fingerprint.matches(seal, to, fingerprint, { a: 1 }), isEqual(from, to))
    }).pipe(Effect.provide(layer))
  )
})

/** A storage backend that stores encoded text, as a database does, instead of the record objects. */
const keepingTexts = (storage: Storage["Service"]): Storage["Service"] => ({
  ...storage,
  commit: (change) =>
    storage.commit({
      ...change,
      writes: change.writes.map((record) => Change.record({ ...record, body: record.body }))
    })
})

/** Copies every row of a workspace to another, except those that exist there. */
const copyRows = Effect.fnUntraced(function* (from: WorkspaceId, to: WorkspaceId) {
  const storage = yield* Storage
  const copy = Effect.fnUntraced(
    function* (newest: Change.StoredRecord) {
      const { id, kind } = newest
      for (let version = 1; version <= newest.version; version++) {
        const found = yield* storage.get({ workspace_id: from, kind, id, version })
        const { body } = Option.getOrElse(found, () => newest)
        yield* storage.commit(Change.make(to, { writes: [Change.record({ ...newest, version, body })] }))
      }
    },
    (copied) => Effect.ignore(copied)
  )
  for (const { name } of kinds.all.filter(({ name }) => name !== "workspace")) {
    yield* eachPage(storage, { workspace_id: from, kind: name, order: "oldest", limit: 100 }, (records) =>
      Effect.forEach(records, copy, { discard: true })
    )
  }
})

describe("rows copied into another organization's workspace", () => {
  testInWorld(
    "reveal no quote, secret or response to that organization",
    Effect.gen(function* () {
      const { call, organization } = yield* World
      const access = yield* Access
      const stranger = yield* access.createOrganization("A stranger")
      const as = yield* access.createKey({ organization_id: stranger.id, environment: "sandbox", kind: "server" })
      const { id } = yield* start()
      yield* advance(60)
      yield* runDue
      const [quote] = (yield* read(id)).quote_request.quote_ids
      const { signing_secret } = yield* create({}, { idempotency_key: "made" })
      const scenario = { scenario: "zero_quotes" }
      yield* call(operations.selectScenario, scenario, { idempotency_key: "once" })

      yield* copyRows(organization.workspaces.sandbox, stranger.workspaces.sandbox)
      assert.isDefined(quote)
      assert.strictEqual((yield* refusal(getQuote(quote, undefined, as)))._tag, "not_found")
      const again = yield* Effect.exit(create({}, { ...as, idempotency_key: "made" }))
      assert.isTrue(Exit.isFailure(again))
      assert.notInclude(JSON.stringify(again), signing_secret ?? "none")
      const repeat = yield* refusal(call(operations.selectScenario, scenario, { ...as, idempotency_key: "once" }))
      assert.strictEqual(repeat._tag, "conflict")
    }),
    { around: keepingTexts, webhooks: endpoints().layer }
  )
})
