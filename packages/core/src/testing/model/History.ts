import { Arbitrary, Schema } from "effect"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const perhaps = <S extends Schema.Constraint>(schema: S) => Schema.NullOr(schema)

// The ranges are small, so that the steps of a history affect each other.
const workspace = Schema.Literals([1, 2, 3])
const place = between(1, 5)
const limit = between(1, 6)
const moment = between(0, 60)
const kind = Schema.Literals([
  "quote_request",
  "quote_request",
  "quote",
  "quote",
  "offer",
  "idempotency_record",
  "workspace"
])
const status = Schema.Literals(["collecting", "complete"])
const line = Schema.Literals(["renters", "pet"])
/** The IDs that records and events are about; see `aboutOf` in `StorageModel.ts`. */
const aboutIds = Schema.Array(Schema.Literals(["parity_0", "parity_1", "third_0", "third_2"])).check(
  Schema.isMaxLength(2)
)

const expects = Schema.Array(
  Schema.Struct({
    kind,
    place,
    /** The difference from the stored version: usually 0, sometimes -1 or 1. */
    step: Schema.Literals([0, 0, 0, 0, 0, 0, 0, 0, -1, 1])
  })
).check(Schema.isMaxLength(2))

const Commit = Schema.TaggedStruct("commit", {
  workspace,
  writes: Schema.Array(
    Schema.Struct({
      kind,
      place,
      /**
       * The difference from the stored version: usually 1, sometimes 0 (the same version again) or 2 (a version too
       * far).
       */
      step: Schema.Literals([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2]),
      status: perhaps(status),
      created_at: moment,
      updated_at: moment
    })
  ).check(Schema.isMaxLength(3)),
  expects,
  events: Schema.Array(moment).check(Schema.isMaxLength(3)),
  jobs: Schema.Array(
    Schema.Struct({
      due_at: moment,
      ordered: Schema.Boolean,
      /** The lane of a job that is not ordered. */
      lane: perhaps(Schema.Literals(["narrow", "wide", "urgent"]))
    })
  ).check(Schema.isMaxLength(4)),
  /** The workspace's leases whose jobs the change finishes. 0 is the newest lease. */
  finishes: Schema.Array(between(0, 5)).check(Schema.isMaxLength(2)),
  /** How far the change moves the workspace's clock forward. */
  forward_ms: perhaps(between(0, 10)),
  /** The workspace time before which no other ordered job may be due. It is usually 0, which is before all jobs. */
  none_due_before: perhaps(Schema.Literals([0, 0, 0, 10, 30]))
})

const Claim = Schema.TaggedStruct("claim", {
  /** How much real time passes before the step. */
  passed_ms: between(0, 20),
  lease_ms: between(1, 30),
  limit,
  workspace: perhaps(workspace),
  /** How far ahead ordered jobs are claimed, if the claim is for one workspace. */
  ahead_ms: perhaps(between(0, 30))
})

const Release = Schema.TaggedStruct("release", {
  /** The leases to release, counted back from the newest. */
  leases: Schema.Array(between(0, 5)).check(Schema.isMaxLength(2))
})

const Get = Schema.TaggedStruct("get", { workspace, kind, place, version: perhaps(between(1, 4)) })

const Pages = Schema.TaggedStruct("pages", {
  workspace,
  kind,
  order: Schema.Literals(["newest", "oldest"]),
  after: perhaps(place),
  limit,
  parent: perhaps(place),
  status: perhaps(status),
  line: perhaps(line),
  /** The parity of `updated_at` in the newest version, which is one of the version's labels. */
  parity: perhaps(between(0, 1)),
  about: perhaps(aboutIds),
  created_after: perhaps(moment),
  created_before: perhaps(moment),
  updated_since: perhaps(moment)
})

const Feed = Schema.TaggedStruct("feed", {
  workspace,
  after: between(0, 20),
  limit: between(0, 6),
  about: perhaps(aboutIds)
})

const EraseWorkspace = Schema.TaggedStruct("erase_workspace", { workspace, expects })
const EraseRecords = Schema.TaggedStruct("erase_records", { workspace, kind, created_before: moment, limit })
const EraseChildren = Schema.TaggedStruct("erase_children", {
  workspace,
  kind,
  parent: place,
  versions: Schema.Literals(["all", "older", "older"])
})
const EraseEvents = Schema.TaggedStruct("erase_events", { workspace, occurred_before: moment, limit })
const Rewrite = Schema.TaggedStruct("rewrite", {
  workspace,
  kind,
  place,
  version: between(1, 4),
  /** Whether the body is the stored body or a different body. */
  is_stored: Schema.Literals([true, true, false])
})
const Workspaces = Schema.TaggedStruct("workspaces", { after: perhaps(workspace), limit: between(1, 3) })

const Write = Schema.Union([Commit, Commit, Claim])
const Read = Schema.Union([Get, Pages, Feed, Workspaces])
const Rare = Schema.Union([
  Release,
  Release,
  EraseWorkspace,
  EraseRecords,
  EraseRecords,
  EraseChildren,
  EraseEvents,
  Rewrite
])

/**
 * A step in a history. It refers to records, jobs and leases by index, so that it makes sense anywhere in a history.
 */
export const Step = Schema.Union([Write, Write, Write, Write, Read, Read, Rare])
export type Step = typeof Step.Type

/** A sequence of calls to a storage backend. */
export type History = ReadonlyArray<Step>

/** Random histories. They get longer as the generator's size grows. */
export const histories: Arbitrary.Arbitrary<History> = Arbitrary.array(Arbitrary.schema(Step))
