import { Context, Data, Effect, Layer, Option } from "effect"
import * as Change from "../../storage/Change.ts"
import type { Kinds, SealedTexts, Traits } from "../../storage/Kind.ts"
import { commit, eachPage, type Rewrite, Storage, type StorageUnavailable } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { keyNameOf, purposeOf, Seal } from "./Seal.ts"
import * as SealKeysInUse from "./SealKeysInUse.ts"

/** The maximum number of records that one step reads. */
const pageSize = 100
/** How many workspaces are read concurrently. */
const atOnce = 4
/** How many older versions of a record are read concurrently. */
const olderAtOnce = 8
/**
 * The maximum number of passes in a rotation. A rotation repeats its pass until nothing is left to reseal, but hosts
 * may keep sealing with an older key.
 */
const maxPasses = 5

/** A seal key, and how much was sealed or hashed with the key. */
export interface SealKeyStatus {
  /** The key's public name, which reveals nothing about the key. */
  readonly key_name: string
  /** The key's position in the settings, from 1; null if the settings lack it. */
  readonly position: number | null
  /** How many stored record versions and texts the key seals. */
  readonly sealed: number
  /** How many records contain keyed hashes made with the key. Comparing such a hash needs the same key. */
  readonly hashed: number
  /**
   * Whether the key can be removed from the settings: it seals nothing, and new records are sealed with a different
   * key.
   */
  readonly removable: boolean
}

/** The keys, and what each key seals. */
export interface SealStatus {
  /** The keys in the settings in their order, then other keys that were found. */
  readonly keys: ReadonlyArray<SealKeyStatus>
  readonly workspaces: number
}

/** The progress of a rotation. */
export interface SealProgress {
  /** The current pass over all data, counted from 1. */
  readonly pass: number
  readonly workspaces: number
  /** How many workspaces this pass has finished. */
  readonly workspaces_done: number
  /** How many record versions and texts this pass has read. */
  readonly read: number
  /** How many record versions and texts were resealed, across all passes. */
  readonly resealed: number
}

/** The result of a rotation. */
export interface SealRotation {
  /** The public name of the newest key. */
  readonly key_name: string
  /** Whether the last pass found nothing to reseal. If false, some hosts still seal with older keys. */
  readonly complete: boolean
  readonly resealed: number
  readonly passes: number
  /**
   * How many record versions and texts could not be opened, by key. Either the key is not in the settings, or the data
   * was altered.
   */
  readonly left: ReadonlyArray<Pick<SealKeyStatus, "key_name" | "sealed">>
  /** The names of keys in the settings that no longer seal anything. */
  readonly removable: ReadonlyArray<string>
}

/** No host has started with this newest key yet, so running hosts could not open what a rotation would seal. */
export class NewestKeyUnused extends Data.TaggedError("NewestKeyUnused")<{ readonly key_name: string }> {
  readonly code = "newest_key_unused"
  override readonly message =
    `No host has started with ${this.key_name} as its newest seal key: start every host with this key first.`
}

/** Lets operators reseal the data that older keys have sealed. */
export class SealedRows extends Context.Service<
  SealedRows,
  {
    /** Counts what each key seals. Reads all sealed data and changes nothing. */
    readonly status: Effect.Effect<SealStatus, StorageUnavailable>
    /**
     * Reseals data that older keys have sealed, using the newest key. Works in small steps while hosts run, creates no
     * events and changes no content.
     *
     * Progress is kept: if the rotation fails or is stopped, call it again. Two rotations can run concurrently. Before
     * you call it, restart every host with the newest key.
     */
    readonly rotate: (
      onProgress?: OnProgress
    ) => Effect.Effect<SealRotation, NewestKeyUnused | SealKeysInUse.SealKeysRefused | StorageUnavailable>
    /**
     * Gives up a lost key: hosts then start without the key, and everything sealed with it is treated as lost. Running
     * hosts must be restarted. If the key is added to the settings again later, its data can be opened again.
     */
    readonly giveUp: (key_name: string) => Effect.Effect<void, StorageUnavailable>
  }
>()("@quotewire/core/SealedRows") {
  /** Requires the storage backend itself, without the sealing layer that other services use. */
  static readonly layer = (kinds: Kinds): Layer.Layer<SealedRows, never, Storage | Seal> =>
    Layer.effect(
      SealedRows,
      Effect.gen(function* () {
        const storage = yield* Storage
        const seal = yield* Seal
        return SealedRows.of({
          status: statusOf(storage, seal, kinds),
          rotate: (onProgress) => rotate(storage, seal, kinds, onProgress ?? (() => Effect.void)),
          giveUp: (keyName) => SealKeysInUse.giveUp(storage, keyName)
        })
      })
    )
}

type Port = Storage["Service"]

/** A page of records of one kind, in one workspace. */
interface KindPage {
  readonly workspace_id: WorkspaceId
  readonly kind: Traits
  readonly records: ReadonlyArray<Change.StoredRecord>
}

/** Lists all workspaces that have data. */
const workspacesOf = Effect.fnUntraced(function* (storage: Port) {
  const workspaceIds: Array<WorkspaceId> = []
  let after: WorkspaceId | null = null
  do {
    const page: ReadonlyArray<WorkspaceId> = yield* storage.workspaces(after, pageSize)
    workspaceIds.push(...page)
    after = page.length < pageSize ? null : (page.at(-1) ?? null)
  } while (after !== null)
  return workspaceIds
})

/** The kinds and the workspaces whose records to read. */
interface Scan {
  readonly kinds: ReadonlyArray<Traits>
  readonly workspaces: ReadonlyArray<WorkspaceId>
}

/** Reads pages of these kinds in these workspaces, several workspaces concurrently. */
const eachKindPage = <E>(
  storage: Port,
  { kinds, workspaces }: Scan,
  onPage: (page: KindPage) => Effect.Effect<void, E>,
  done: Effect.Effect<void> = Effect.void
): Effect.Effect<void, E | StorageUnavailable> => {
  const readKind = (workspace_id: WorkspaceId) => (kind: Traits) =>
    eachPage(storage, { workspace_id, kind: kind.name, order: "oldest", limit: pageSize }, (records) =>
      records.length === 0 ? Effect.void : onPage({ workspace_id, kind, records })
    )
  return Effect.forEach(
    workspaces,
    (workspace_id) => Effect.andThen(Effect.forEach(kinds, readKind(workspace_id), { discard: true }), done),
    { concurrency: atOnce, discard: true }
  )
}

/** Reads a record version, and all its older versions that are still stored. */
const versionsOf = Effect.fnUntraced(function* (
  storage: Port,
  { kind, workspace_id }: Pick<KindPage, "kind" | "workspace_id">,
  newestVersion: Change.StoredRecord
) {
  if (!kind.keeps_history || newestVersion.version === 1) return [newestVersion]
  const numbers = Array.from({ length: newestVersion.version - 1 }, (_, index) => index + 1)
  const older = yield* Effect.forEach(
    numbers,
    (version) => storage.get({ workspace_id, kind: kind.name, id: newestVersion.id, version }),
    { concurrency: olderAtOnce }
  )
  return [...older.flatMap(Option.toArray), newestVersion]
})

const sealedKinds = ({ all }: Kinds) => all.filter(({ sealed, sealed_texts }) => sealed || sealed_texts !== null)

/** The names of the keys that seal a record, one name for each sealed version or text. */
const keysOf = Effect.fnUntraced(function* (
  storage: Port,
  place: Pick<KindPage, "kind" | "workspace_id">,
  record: Change.StoredRecord
) {
  const { kind, workspace_id } = place
  const texts =
    kind.sealed_texts === null
      ? (yield* versionsOf(storage, place, record)).map(({ body }) => body)
      : kind.sealed_texts(workspace_id, record).texts
  return texts.flatMap((text) => keyNameOf(text) ?? [])
})

// Matches a keyed hash: the name of its key, a dot, and 32 bytes in base64url.
const hashes = /([\w-]{8})\.[\w-]{43}(?![\w-])/g

const hashNamesIn = ({ body, id, labels }: Change.StoredRecord): ReadonlySet<string> =>
  new Set([...`${id} ${labels.join(" ")} ${body}`.matchAll(hashes)].flatMap(([, name]) => name ?? []))

const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)

const statusOf = Effect.fn("SealedRows.status")(function* (storage: Port, seal: Seal["Service"], kinds: Kinds) {
  const workspaces = yield* workspacesOf(storage)
  const sealed = new Map<string, number>()
  const hashed = new Map<string, number>()
  yield* eachKindPage(storage, { kinds: sealedKinds(kinds), workspaces }, (page) =>
    Effect.forEach(
      page.records,
      (record) =>
        Effect.map(keysOf(storage, page, record), (names) => {
          for (const name of names) add(sealed, name)
        }),
      { discard: true }
    )
  )
  const hashing = kinds.all.filter(({ has_hashes }) => has_hashes)
  yield* eachKindPage(storage, { kinds: hashing, workspaces }, ({ records }) =>
    Effect.sync(() => {
      for (const record of records) for (const name of hashNamesIn(record)) add(hashed, name)
    })
  )
  const stored = yield* SealKeysInUse.read(storage)
  const newest = stored?.newest ?? seal.key_names[0]
  const knownNames = [...seal.key_names, ...(stored?.in_use ?? []), ...(stored?.given_up ?? [])]
  const keys = [...new Set([...knownNames, ...sealed.keys()])].map((key_name): SealKeyStatus => {
    const position = seal.key_names.indexOf(key_name)
    const count = sealed.get(key_name) ?? 0
    return {
      key_name,
      position: position === -1 ? null : position + 1,
      sealed: count,
      hashed: hashed.get(key_name) ?? 0,
      removable: count === 0 && key_name !== newest && key_name !== seal.key_names[0]
    }
  })
  const status: SealStatus = { keys, workspaces: workspaces.length }
  return status
})

/** The counts of one pass. */
class Pass {
  workspaces_done = 0
  read = 0
  resealed = 0
  /** How many records changed before their resealed bodies could be written. The next pass finds them again. */
  missed = 0
  /** How many record versions and texts could not be opened, by the name of their key. */
  readonly left = new Map<string, number>()
}

/** Makes the functions that reseal a page of records. */
const makeReseal = (storage: Port, seal: Seal["Service"]) => {
  const [newest] = seal.key_names
  const isOld = (text: string) => (keyNameOf(text) ?? newest) !== newest

  /** Reseals the text with the newest key; returns null if the text cannot be opened. */
  const again = Effect.fnUntraced(function* (pass: Pass, purpose: string, text: string) {
    const name = keyNameOf(text) ?? ""
    const opened = seal.key_names.includes(name) ? yield* seal.open(purpose, text) : null
    if (opened !== null) return yield* seal.seal(purpose, opened)
    add(pass.left, name)
    return null
  })

  const bodies = Effect.fnUntraced(function* (pass: Pass, page: KindPage) {
    const { kind, workspace_id } = page
    const rewrites: Array<Rewrite> = []
    for (const record of page.records) {
      const versions = yield* versionsOf(storage, page, record)
      pass.read += versions.length
      for (const { body: oldBody, id, version } of versions.filter(({ body }) => isOld(body))) {
        const at = { kind: kind.name, id, version }
        const body = yield* again(pass, purposeOf(workspace_id, at), oldBody)
        if (body !== null) rewrites.push({ ...at, before: oldBody, body })
      }
    }
    if (rewrites.length === 0) return
    const done = yield* storage.rewrite(workspace_id, rewrites)
    pass.resealed += done
    pass.missed += rewrites.length - done
  })

  // A host may read these texts and later write them back unchanged. Resealing creates a new version, so such an
  // outdated write conflicts.
  const texts = Effect.fnUntraced(function* (pass: Pass, workspace_id: WorkspaceId, sealedTexts: SealedTexts) {
    pass.read += sealedTexts.texts.length
    const resealed = new Map<string, string>()
    for (const text of sealedTexts.texts.filter(isOld)) {
      const sealed = yield* again(pass, sealedTexts.purpose, text)
      if (sealed !== null) resealed.set(text, sealed)
    }
    if (resealed.size === 0) return
    const next = sealedTexts.resealed((text) => resealed.get(text) ?? text)
    yield* commit(storage, Change.make(workspace_id, { writes: [next] })).pipe(
      Effect.match({
        onSuccess: () => {
          pass.resealed += resealed.size
        },
        onFailure: () => {
          pass.missed += resealed.size
        }
      })
    )
  })

  return (pass: Pass, page: KindPage): Effect.Effect<void, StorageUnavailable> => {
    const { kind, records, workspace_id } = page
    const { sealed_texts } = kind
    return sealed_texts === null
      ? bodies(pass, page)
      : Effect.forEach(records, (record) => texts(pass, workspace_id, sealed_texts(workspace_id, record)), {
          discard: true
        })
  }
}

type OnProgress = (progress: SealProgress) => Effect.Effect<void>

/** Makes a function that reads all sealed data once, and reseals the data that older keys have sealed. */
const makePass = (storage: Port, seal: Seal["Service"], kinds: Kinds, onProgress: OnProgress) => {
  const reseal = makeReseal(storage, seal)
  return Effect.fnUntraced(function* (number: number, resealed: number) {
    const pass = new Pass()
    const workspaces = yield* workspacesOf(storage)
    const report = Effect.suspend(() =>
      onProgress({
        pass: number,
        workspaces: workspaces.length,
        workspaces_done: pass.workspaces_done,
        read: pass.read,
        resealed: resealed + pass.resealed
      })
    )
    const done = Effect.suspend(() => {
      pass.workspaces_done += 1
      return report
    })
    const resealPage = (page: KindPage) => Effect.andThen(reseal(pass, page), report)
    yield* eachKindPage(storage, { kinds: sealedKinds(kinds), workspaces }, resealPage, done)
    return pass
  })
}

/** Returns the registered keys if the settings allow a rotation to the newest key, and fails otherwise. */
const checkedKeys = Effect.fnUntraced(function* (storage: Port, { key_names }: Seal["Service"]) {
  const stored = yield* SealKeysInUse.read(storage)
  const missingNames = stored?.in_use.filter((name) => !key_names.includes(name)) ?? []
  if (missingNames.length > 0) {
    return yield* new SealKeysInUse.SealKeysRefused({
      reason: "not_of_storage",
      missing: missingNames,
      given: key_names
    })
  }
  if (stored !== null && stored.newest !== key_names[0]) return yield* new NewestKeyUnused({ key_name: key_names[0] })
  return stored
})

const rotate = Effect.fn("SealedRows.rotate")(function* (
  storage: Port,
  seal: Seal["Service"],
  kinds: Kinds,
  onProgress: OnProgress
) {
  const [newest, ...older] = seal.key_names
  const onePass = makePass(storage, seal, kinds, onProgress)
  let resealed = 0
  for (let number = 1; ; number++) {
    const stored = yield* checkedKeys(storage, seal)
    const pass = yield* onePass(number, resealed)
    resealed += pass.resealed
    const { left } = pass
    // A pass does not reread what it resealed, so only a pass that finds nothing to do proves that nothing is left.
    // `keepOnly` returns false if a host has started in the meantime, because that host may seal with an older key.
    const isComplete =
      pass.resealed === 0 &&
      pass.missed === 0 &&
      (stored === null || (yield* SealKeysInUse.keepOnly(storage, stored, [newest, ...left.keys()])))
    if (!isComplete && number < maxPasses) continue
    const rotation: SealRotation = {
      key_name: newest,
      complete: isComplete,
      resealed,
      passes: number,
      left: Array.from(left, ([key_name, sealed]) => ({ key_name, sealed })),
      removable: isComplete ? older.filter((name) => !left.has(name)) : []
    }
    return rotation
  }
})
