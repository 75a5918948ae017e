import { Context, Effect, Layer } from "effect"
import { commitAt, type Moment, Workspaces } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import { decideAtMoment } from "../calls/decideAtMoment.ts"
import { readOne, retryOnConflict, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids, type WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { toMillis } from "../wire/Timestamp.ts"
import {
  type Decision,
  decide,
  type FeedbackReport,
  kind,
  personalTexts,
  receive,
  type SendInput,
  type StoredReport
} from "./FeedbackReport.ts"

/** Whether reports are accepted. If false, the feedback operations are unavailable. */
export const FeedbackEnabled = Context.Reference<boolean>("@quotewire/core/FeedbackEnabled", {
  defaultValue: () => true
})

/** Accepts reports about the API, returns their status, and lets operators decide about them (api.md, Feedback). */
export class Feedback extends Context.Service<
  Feedback,
  {
    /** Whether reports are accepted. */
    readonly isTaken: boolean
    /**
     * Stores a report. If the report seems to contain a personal number, refuses the report and stores no part of it.
     */
    readonly send: (
      call: Call,
      input: SendInput
    ) => Effect.Effect<Json.Json<FeedbackReport>, ApiError.ApiError<"invalid_input"> | StorageUnavailable>
    /** Reads a report of the caller's workspace. */
    readonly get: (
      call: Call,
      id: string
    ) => Effect.Effect<Json.Json<FeedbackReport>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /**
     * For operators: lists a workspace's reports with their text, oldest first. `after` is the ID of the last report on
     * the previous page.
     */
    readonly reports: (
      workspace_id: WorkspaceId,
      after: string | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<StoredReport>, StorageUnavailable>
    /** For operators: records the decision about a report, with a note that everybody who reads the report sees. */
    readonly decide: (
      workspace_id: WorkspaceId,
      id: string,
      status: Decision,
      public_note: string | null
    ) => Effect.Effect<FeedbackReport, ApiError.ApiError<"not_found"> | StorageUnavailable>
  }
>()("@quotewire/core/Feedback") {
  static readonly layer: Layer.Layer<Feedback, never, Storage | Ids | Workspaces> = Layer.effect(
    Feedback,
    Effect.gen(function* () {
      const storage = yield* Storage
      const ids = yield* Ids
      const workspaces = yield* Workspaces
      const isTaken = yield* FeedbackEnabled

      const store = (moment: Moment, report: StoredReport) =>
        commitAt({ storage, workspaces }, moment, {
          writes: [
            kind.record(report, {
              id: report.report.feedback_id,
              version: report.version,
              created_at: toMillis(report.report.created_at),
              updated_at: moment.now
            })
          ]
        })

      const find = Effect.fnUntraced(function* (workspace_id: WorkspaceId, id: string) {
        return (yield* readOne(storage, kind, workspace_id, id)) ?? (yield* ApiError.make("not_found"))
      })

      const send = Effect.fnUntraced(function* ({ caller, moment }: Call, input: SendInput) {
        const wrongFields = personalTexts(input)
        if (wrongFields.length > 0) return yield* ApiError.invalidInput(wrongFields)
        const sentBy = { kind: caller.kind, key_id: caller.key_id }
        const report = receive(ids.feedback(), input, sentBy, moment.now)
        yield* store(moment, report)
        return Json.encode(report.report)
      })

      const decideOnce = Effect.fnUntraced(function* (
        workspace_id: WorkspaceId,
        id: string,
        status: Decision,
        publicNote: string | null
      ) {
        const report = yield* find(workspace_id, id)
        const decided = decide(report, status, publicNote)
        yield* store(yield* workspaces.moment(workspace_id), decided)
        return decided.report
      })

      return Feedback.of({
        isTaken,
        send: (call, input) => decideAtMoment(workspaces, call, (callAtMoment) => send(callAtMoment, input)),
        get: ({ caller }, id) => Effect.map(find(caller.workspace_id, id), ({ report }) => Json.encode(report)),
        reports: (workspace_id, after, limit) =>
          Effect.map(storage.page({ workspace_id, kind: kind.name, order: "oldest", after, limit }), ({ records }) =>
            records.map(kind.value)
          ),
        decide: (workspace_id, id, status, publicNote) =>
          retryOnConflict(decideOnce(workspace_id, id, status, publicNote))
      })
    })
  )
}
