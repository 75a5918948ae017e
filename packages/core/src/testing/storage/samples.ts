import * as Change from "../../storage/Change.ts"
import type { ClaimedJob, Lease, NewJob } from "../../storage/Job.ts"
import type { FeedQuery, RecordQuery } from "../../storage/Page.ts"
import type { ClaimQuery } from "../../storage/Storage.ts"
import { WorkspaceId } from "../../wire/Ids.ts"

const digits = 26

/** The part of an ID after its prefix. These parts sort by index. */
export const idBody = (place: number): string => place.toString().padStart(digits, "0")

/** The ID of the workspace with this index. Index 0 would be the directory. */
export const workspace = (place: number): WorkspaceId => WorkspaceId.make(`wks_${idBody(place)}`)

/** The workspace that most cases use. */
export const home = workspace(1)

/** A different workspace. */
export const elsewhere = workspace(2)

/** The ID of the quote request with this index. */
export const requestId = (place: number): string => `qreq_${idBody(place)}`

/** The ID of the quote with this index. */
export const quoteId = (place: number): string => `qt_${idBody(place)}`

type RecordParts = Partial<Change.StoredRecord>

/** A version of a quote request; by default version 1. */
export const request = (place: number, parts: RecordParts = {}): Change.StoredRecord =>
  Change.record({
    kind: "quote_request",
    id: requestId(place),
    version: 1,
    body: `{"place":${place},"version":${parts.version ?? 1}}`,
    status: "collecting",
    line: "renters",
    created_at: 1_000 + place,
    updated_at: 1_000 + place,
    ...parts
  })

/** A version of a quote for a quote request. */
export const quote = (place: number, requestPlace: number, parts: RecordParts = {}): Change.StoredRecord =>
  request(place, { kind: "quote", id: quoteId(place), parent: requestId(requestPlace), status: "active", ...parts })

/** A new event with this index. */
export const event = (
  place: number,
  occurred_at = 1_000 + place,
  about: ReadonlyArray<string> = []
): Change.NewEvent => ({
  id: `evt_${idBody(place)}`,
  occurred_at,
  about,
  body: `{"event":${place}}`
})

/** A job that is due at this workspace time. */
export const job = (due_at: number, parts: Partial<NewJob> = {}): NewJob => ({
  kind: "collect",
  due_at,
  ordered: false,
  payload: `{"due":${due_at}}`,
  ...parts
})

/** An ordered job that is due at this workspace time. */
export const timer = (dueAt: number, payload = `{"due":${dueAt}}`): NewJob =>
  job(dueAt, { kind: "close_request", ordered: true, payload })

/** A change in the workspace `home`. */
export const change = (parts: Partial<Change.Change>): Change.Change => Change.make(parts.workspace_id ?? home, parts)

/** A claim for up to a hundred jobs at this real time. */
export const claimAt = (now: number, parts: Partial<ClaimQuery> = {}): ClaimQuery => ({
  now,
  lease_ms: 1_000,
  limit: 100,
  ...parts
})

/** A query for the first page of quote requests in `home`, at most a hundred. */
export const pageOf = (parts: Partial<RecordQuery> = {}): RecordQuery => ({
  workspace_id: home,
  kind: "quote_request",
  order: "oldest",
  after: null,
  limit: 100,
  ...parts
})

/** A query for the first hundred events in `home`. */
export const feedOf = (parts: Partial<FeedQuery> = {}): FeedQuery => ({
  workspace_id: home,
  after: 0,
  limit: 100,
  ...parts
})

/** Returns only the lease of a claimed job. */
export const leaseOf = ({ workspace_id, number, lease }: ClaimedJob): Lease => ({ workspace_id, number, lease })

/** The jobs' due times, in claim order. */
export const dueTimes = (jobs: ReadonlyArray<ClaimedJob>): ReadonlyArray<number> => jobs.map(({ due_at }) => due_at)

/** The jobs' due times, smallest first, because jobs from several workspaces can be claimed in any order. */
export const inOrder = (jobs: ReadonlyArray<ClaimedJob>): ReadonlyArray<number> =>
  [...dueTimes(jobs)].sort((a, b) => a - b)

/** All whole numbers from `first` to `last`, including both. */
export const range = (first: number, last: number): ReadonlyArray<number> =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)
