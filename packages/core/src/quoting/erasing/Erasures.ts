import { Context, Effect, Layer, Option } from "effect"
import * as ApiKey from "../../access/ApiKey.ts"
import { macOfKey, Seal } from "../../access/sealing/Seal.ts"
import { expectationsOf, Workspaces } from "../../access/Workspaces.ts"
import { Lines } from "../../lines/Lines.ts"
import * as Change from "../../storage/Change.ts"
import type { Kinds } from "../../storage/Kind.ts"
import {
  commit,
  directoryWorkspace,
  eachPage,
  readAll,
  readOne,
  retryOnConflict,
  Storage,
  type Erasure as StorageErasure,
  type StorageUnavailable
} from "../../storage/Storage.ts"
import * as ApiError from "../../wire/ApiError.ts"
import { Ids, type WorkspaceId } from "../../wire/Ids.ts"
import * as Input from "../../wire/Input.ts"
import * as CarrierReference from "../asking/CarrierReference.ts"
import * as ConsentRecord from "../ConsentRecord.ts"
import * as Quote from "../Quote.ts"
import * as QuoteChange from "../QuoteChange.ts"
import * as QuoteRequest from "../QuoteRequest.ts"
import * as Erasure from "./Erasure.ts"

const pageSize = 100
/** How many workspaces are searched concurrently. */
const searchedAtOnce = 10

/** Erases a person's data, for operators. */
export class Erasures extends Context.Service<
  Erasures,
  {
    /**
     * Erases what is known about a person from one quote request, or from all requests that were started with a
     * receipt.
     *
     * A request in progress ends first: it fails with `consent_withdrawn`, and no more carriers are asked. Facts, read
     * handle and offers are erased, and so is everything else that is sealed and belongs to the request. Prices,
     * statuses, events and the record of consent remain, and a record of the erasure is added. Erasing a request again
     * changes nothing, and the report says so.
     *
     * If this fails or is stopped, call it again: it continues where it stopped. Fails with `invalid_input`, which
     * names the wrong field, and with `not_found` if the organization does not exist. For an unknown request or
     * receipt, the report is empty.
     */
    readonly erase: (
      target: Erasure.ErasureTarget,
      options: Erasure.ErasureOptions
    ) => Effect.Effect<
      Erasure.ErasureReport,
      ApiError.ApiError<"invalid_input"> | ApiError.ApiError<"not_found"> | StorageUnavailable
    >
  }
>()("@quotewire/core/Erasures") {
  static readonly layer = (kinds: Kinds): Layer.Layer<Erasures, never, Storage | Seal | Ids | Workspaces> =>
    Layer.effect(
      Erasures,
      Effect.gen(function* () {
        const workspaceOf = yield* makeWorkspaceOf
        const eachOfReceipt = yield* makeEachOfReceipt
        const eraseRequest = yield* makeEraseRequest(kinds)

        const erase = Effect.fn("Erasures.erase")(function* (
          targetInput: Erasure.ErasureTarget,
          options: Erasure.ErasureOptions
        ) {
          const erasureOptions: Erasure.ErasureOptions = isDryRun(options)
            ? yield* Effect.fromResult(readDryRun(options))
            : yield* Effect.fromResult(readOptions(options))
          let report = Erasure.nothing
          const eraseNext = (workspace_id: WorkspaceId, id: string) =>
            Effect.map(eraseRequest(workspace_id, id, erasureOptions), (result) => {
              if (result !== null) report = Erasure.add(report, result)
            })
          if ("consent_receipt_id" in targetInput) {
            const target = yield* Effect.fromResult(readReceipt(targetInput))
            yield* eachOfReceipt(target, eraseNext)
          } else {
            const target = yield* Effect.fromResult(readRequest(targetInput))
            const workspace_id = yield* workspaceOf(target)
            if (workspace_id !== null) yield* eraseNext(workspace_id, target.quote_request_id)
          }
          return report
        })

        return Erasures.of({ erase })
      })
    )
}

const isDryRun = ({ dry_run }: Erasure.ErasureOptions): boolean => dry_run === true

const readOptions = Input.reader(Erasure.ErasureOptions)
const readDryRun = Input.reader(Erasure.DryRunOptions)
const readRequest = Input.reader(Erasure.RequestTarget)
const readReceipt = Input.reader(Erasure.ReceiptTarget)

/**
 * Makes a function that finds a request's workspace. The function returns null if no workspace has the request, or if
 * the target names a different workspace.
 */
const makeWorkspaceOf = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces

  /** Whether a workspace has a request, or has erased it. */
  const holds = Effect.fnUntraced(function* (workspace_id: WorkspaceId, id: string) {
    for (const kind of [QuoteRequest.kind.name, Erasure.kind.name]) {
      if (Option.isSome(yield* storage.get({ workspace_id, kind, id }))) return true
    }
    return false
  })

  /** The workspace that has a request; null if no workspace has it. */
  const holderOf = Effect.fnUntraced(function* (id: string) {
    let after: WorkspaceId | null = null
    do {
      const workspaceIds: ReadonlyArray<WorkspaceId> = yield* storage.workspaces(after, pageSize)
      const answers = yield* Effect.forEach(workspaceIds, (workspace_id) => holds(workspace_id, id), {
        concurrency: searchedAtOnce
      })
      const index = answers.indexOf(true)
      if (index !== -1) return workspaceIds[index] ?? null
      after = workspaceIds.at(-1) ?? null
    } while (after !== null)
    return null
  })

  return Effect.fnUntraced(function* ({
    quote_request_id,
    environment,
    organization_id
  }: typeof Erasure.RequestTarget.Type) {
    const id = yield* holderOf(quote_request_id)
    if (id === null) return null
    const { workspace } = yield* workspaces.moment(id)
    const isNamed =
      (environment ?? workspace.environment) === workspace.environment &&
      (organization_id ?? workspace.organization_id) === workspace.organization_id
    return isNamed ? id : null
  })
})

/** Makes a function that visits all requests that were started with a consent receipt. */
const makeEachOfReceipt = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal

  /**
   * The labels under which consents with this receipt may be stored: one for each seal key, and one for a receipt that
   * the service itself recorded.
   */
  const labelsOf = Effect.fnUntraced(function* (workspace_id: WorkspaceId, receipt: string) {
    const purpose = ConsentRecord.purposeOfReceipt(workspace_id)
    const macs = yield* Effect.forEach(seal.key_names, (name) => seal.macLike(macOfKey(name), purpose, receipt))
    return [receipt, ...macs.filter((mac) => mac !== null)].map(ConsentRecord.labelOfReceipt)
  })

  return Effect.fnUntraced(function* <E>(
    { consent_receipt_id, environment, organization_id }: typeof Erasure.ReceiptTarget.Type,
    onRequest: (workspace_id: WorkspaceId, id: string) => Effect.Effect<void, E>
  ) {
    const organization = yield* ApiKey.findOrganization(storage, organization_id)
    if (organization === null) return yield* ApiError.make("not_found")
    const workspace_id = organization.workspaces[environment]
    for (const label of yield* labelsOf(workspace_id, consent_receipt_id)) {
      yield* eachPage(
        storage,
        { workspace_id, kind: ConsentRecord.kind.name, labels: [label], order: "oldest", limit: pageSize },
        (consents) =>
          Effect.forEach(
            consents,
            (consent) => onRequest(workspace_id, ConsentRecord.kind.value(consent).quote_request_id),
            {
              discard: true
            }
          )
      )
    }
  })
})

/**
 * Makes a function that erases one request. The function returns null if the request does not exist and no erasure of
 * the request is recorded.
 */
const makeEraseRequest = Effect.fnUntraced(function* (kinds: Kinds) {
  const storage = yield* Storage
  const begin = yield* makeBegin
  const sealed = kinds.all.filter((kind) => kind.sealed)

  const eraseKind = (target: Omit<Extract<StorageErasure, { readonly what: "children" }>, "what">) =>
    Effect.catchTag(storage.erase({ what: "children", ...target }), "VersionConflict", (conflict) =>
      // This erasure has no expectations, so it cannot conflict.
      Effect.die(conflict)
    )

  /** Erases all sealed children of this parent. Of quotes, erases only the older versions. */
  const eraseChildren = (workspace_id: WorkspaceId, parent: string) =>
    Effect.forEach(
      sealed,
      ({ name: kind }) =>
        eraseKind({ workspace_id, kind, parent, versions: kind === Quote.kind.name ? "older" : "all" }),
      { discard: true }
    )

  /**
   * Erases what belongs to the request, including its application, and then what belongs to the application. From then
   * on, a change that expects the application cannot add anything, and carriers' references no longer lead to the
   * request's asks.
   */
  const eraseAll = Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    { application_id, quote_request_id: parent }: Erasure.ErasureRecord
  ) {
    yield* eraseChildren(workspace_id, parent)
    yield* eraseChildren(workspace_id, application_id)
    yield* eraseKind({ workspace_id: directoryWorkspace, kind: CarrierReference.kind.name, parent, versions: "all" })
  })

  /** Records that the erasure is complete, unless another process has just recorded that. */
  const finish = (workspace_id: WorkspaceId, record: Erasure.ErasureRecord) =>
    Effect.catchTag(
      commit(storage, Change.make(workspace_id, { writes: [Erasure.toStored({ ...record, state: "done" })] })),
      "VersionConflict",
      () => Effect.void
    )

  return Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    id: string,
    // Only a dry run, which stores no record, may omit `by`.
    { by = "", dry_run = false }: Erasure.ErasureOptions
  ) {
    const record = yield* retryOnConflict(begin(workspace_id, id, by, dry_run))
    if (record === null) return null
    if (record.state === "done") return Erasure.resultOf(record, "already_erased")
    if (dry_run) return Erasure.resultOf(record, "to_erase")
    yield* eraseAll(workspace_id, record)
    yield* finish(workspace_id, record)
    yield* Effect.annotateLogs(Effect.logInfo("A person's data was erased from a quote request"), {
      quote_request_id: record.quote_request_id
    })
    return Erasure.resultOf(record, "erased")
  })
})

/**
 * Makes a function that ends a request and its quotes, and stores the record of the erasure, in one change. From then
 * on, nothing about the person is added. The function returns the record, or the record of an earlier erasure. A dry
 * run stores nothing.
 */
const makeBegin = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const ids = yield* Ids
  const lines = yield* Lines

  const quotesOf = (workspace_id: WorkspaceId, parent: string) =>
    readAll(storage, { workspace_id, kind: Quote.kind.name, parent, order: "oldest", limit: pageSize })

  /** The last version of a quote, and its event. */
  const lastOf = (stored: Change.StoredRecord, now: number) => {
    const line = QuoteChange.lineOf(lines, stored)
    const { event: type, quote } = Erasure.lastVersion(Quote.kind.value(stored), now)
    return {
      write: Quote.toStored(quote, line.name, stored.created_at, now),
      events: QuoteChange.events(ids, { type, quote, line, at: now })
    }
  }

  return Effect.fnUntraced(function* (workspace_id: WorkspaceId, id: string, operator: string, isDry: boolean) {
    const moment = yield* workspaces.moment(workspace_id)
    const erased = yield* readOne(storage, Erasure.kind, workspace_id, id)
    if (erased !== null) return erased
    const stored = yield* storage.get({ workspace_id, kind: QuoteRequest.kind.name, id })
    if (Option.isNone(stored)) return null
    const request = QuoteRequest.kind.value(stored.value)
    const at = moment.now
    const quotes = yield* quotesOf(workspace_id, request.id)
    const record = Erasure.begin(request, { at, by: operator, quotes: quotes.length })
    if (isDry) return record
    const last = quotes.map((quote) => lastOf(quote, at))
    const step = Erasure.endRequest(request, at)
    yield* commit(
      storage,
      Change.make(workspace_id, {
        writes: [
          ...last.map(({ write }) => write),
          ...(step === null ? [] : [QuoteRequest.toStored(step.request)]),
          Erasure.toStored(record)
        ],
        // If a carrier's answer is stored in the meantime, the request's version is higher, and this change conflicts.
        expects: [
          ...expectationsOf(moment),
          ...(step === null ? [{ kind: QuoteRequest.kind.name, id, version: stored.value.version }] : [])
        ],
        events: [
          ...last.flatMap(({ events }) => events),
          ...(step === null ? [] : [QuoteRequest.requestEvent(ids, step, at)])
        ]
      })
    )
    return record
  })
})
