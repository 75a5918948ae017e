import { assert } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { Effect, Layer, Option } from "effect"
import { Seal } from "../../src/access/sealing/Seal.ts"
import { SealedRows, type SealRotation } from "../../src/access/sealing/SealedRows.ts"
import { kinds } from "../../src/kinds.ts"
import * as operations from "../../src/operations.ts"
import * as Change from "../../src/storage/Change.ts"
import { eachPage, Storage } from "../../src/storage/Storage.ts"
import { sealKeys, World } from "../../src/testing/World.ts"
import { anotherHost, events, getQuote, type InWorld, list, read, runDue } from "../support/world.ts"
import { create, endpoints, list as listSubscriptions, rotate as rotateSecret } from "../webhooks/support.ts"
import { everyLine } from "./persons.ts"

/* Rotates seal keys in tests, and inspects what is stored afterwards. */

export const oldKeys = sealKeys(1)
export const bothKeys = sealKeys(2, 1)
export const newKeys = sealKeys(2)

/** The public names of test keys. */
export const namesOf = (settings: typeof oldKeys) =>
  Effect.map(Seal, ({ key_names }) => key_names).pipe(
    Effect.provide(Seal.layer.pipe(Layer.provide(settings), Layer.provide(NodeCrypto.layer), Layer.fresh))
  )

/** A storage backend that stores encoded text, as a database does, instead of the record objects. */
export const writing = (storage: Storage["Service"]): Storage["Service"] => ({
  ...storage,
  commit: (change) =>
    storage.commit({
      ...change,
      writes: change.writes.map((record) => Change.record({ ...record, body: record.body }))
    })
})

/** Rotates the seal keys. */
export const rotate: Effect.Effect<SealRotation, unknown, SealedRows> = SealedRows.use((rows) => rows.rotate())

/** A record without the values that only memory keeps with it. */
const plain = (record: Change.StoredRecord): Change.StoredRecord => ({
  kind: record.kind,
  id: record.id,
  version: record.version,
  body: record.body,
  parent: record.parent,
  status: record.status,
  line: record.line,
  labels: record.labels,
  about: record.about,
  created_at: record.created_at,
  updated_at: record.updated_at,
  expires_at: record.expires_at
})

/** Every stored version of every record, by workspace, kind, id and version. */
export const stored = Effect.gen(function* () {
  const storage = yield* Storage
  const found = new Map<string, Change.StoredRecord>()
  for (const workspace_id of yield* storage.workspaces(null, 1_000)) {
    for (const { keeps_history, name: kind } of kinds.all) {
      yield* eachPage(storage, { workspace_id, kind, order: "oldest", limit: 100 }, (records) =>
        Effect.forEach(
          records.flatMap((record) =>
            keeps_history
              ? Array.from({ length: record.version }, (_, index) => ({ id: record.id, version: index + 1 }))
              : [record]
          ),
          ({ id, version }) =>
            Effect.map(storage.get({ workspace_id, kind, id, version }), (record) => {
              if (Option.isSome(record)) found.set(`${workspace_id} ${kind} ${id} ${version}`, plain(record.value))
            }),
          { concurrency: 20, discard: true }
        )
      )
    }
  }
  return found
})

/** The bodies with data sealed by a key. Sealed text is in base64, hashes in base64url of a fixed length. */
export const sealedBy = (records: ReadonlyMap<string, Change.StoredRecord>, keyName: string) =>
  [...records].flatMap(([place, { body }]) =>
    body.startsWith(`${keyName}.`) || new RegExp(`"sealed":"${keyName}\\.`).test(body) ? [place] : []
  )

/** A sandbox with everything that is sealed: quotes with several versions, a rotated signing secret, a report. */
export const furnish = Effect.gen(function* () {
  yield* everyLine
  const { id } = yield* create()
  yield* rotateSecret(id)
  yield* runDue
})

const atOnce = { concurrency: 20 }

/** Everything that a caller can see of the furnished sandbox. */
export const visible = Effect.gen(function* () {
  const { call } = yield* World
  const { quote_requests } = yield* list({ limit: 100 })
  const requests = yield* Effect.forEach(quote_requests, ({ id }) => read(id), atOnce)
  const quotes = yield* Effect.forEach(
    requests.flatMap((request) => request.quotes),
    ({ id, version }) => Effect.forEach([...Array(version).keys()], (index) => getQuote(id, index + 1)),
    atOnce
  )
  assert.isAbove(quotes.filter(({ length }) => length > 1).length, 0)
  return JSON.stringify({
    requests,
    quotes,
    subscriptions: yield* listSubscriptions(),
    events: (yield* events({ limit: 100 })).events,
    capabilities: yield* call(operations.getCapabilities, { line: "renters" })
  })
})

/**
 * A rotation changes nothing visible, and afterwards the newest key alone opens everything. The world has the old
 * key.
 */
export const rotationStory: InWorld<void> = Effect.gen(function* () {
  const [oldName = ""] = yield* namesOf(oldKeys)
  const [newName = ""] = yield* namesOf(newKeys)
  yield* furnish
  const seen = yield* visible
  const before = yield* stored
  assert.isAbove(sealedBy(before, oldName).length, 30)

  const webhooks = endpoints()
  const rotating = yield* anotherHost({ seal_keys: bothKeys, webhooks: webhooks.layer })
  const { keys: counted } = yield* rotating(SealedRows.use(({ status }) => status))
  assert.deepInclude(counted[0], { key_name: newName, position: 1, sealed: 0, removable: false })
  const [, old = assert.fail("The old key is not listed")] = counted
  assert.deepInclude(old, { key_name: oldName, position: 2, removable: false })
  assert.isAbove(old.hashed, 0)
  const rotation = yield* rotating(rotate)
  assert.deepInclude(rotation, { key_name: newName, complete: true, left: [], removable: [oldName] })
  // A subscription also has an older secret; every other record has one sealed text in one version.
  assert.strictEqual(rotation.resealed, old.sealed)

  const after = yield* stored
  assert.deepStrictEqual(sealedBy(after, oldName), [])
  for (const [place, record] of before) {
    if (record.kind === "subscription" || record.kind === "seal_key") continue
    const { body: _, ...fields } = record
    const { body: __, ...now } = after.get(place) ?? assert.fail(place)
    assert.deepStrictEqual(now, fields, place)
  }
  assert.strictEqual(yield* rotating(visible), seen)
  assert.deepInclude(yield* rotating(rotate), { resealed: 0, complete: true, passes: 1 })

  const alone = yield* anotherHost({ seal_keys: newKeys, webhooks: webhooks.layer })
  assert.strictEqual(yield* alone(visible), seen)
  assert.isFalse(yield* alone(Effect.flatMap(Seal, ({ isMissingKey }) => isMissingKey)))
  const { keys } = yield* alone(SealedRows.use(({ status }) => status))
  const places = keys.map(({ key_name, position, sealed }) => [key_name, position, sealed])
  assert.deepStrictEqual(places, [[newName, 1, rotation.resealed]])
})
