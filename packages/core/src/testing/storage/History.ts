import { Arbitrary, Schema } from "effect"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const perhaps = <S extends Schema.Constraint>(schema: S) => Schema.NullOr(schema)

// Few of everything, so that the steps of a history meet.
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
  "remembered_call",
  "workspace"
])
const status = Schema.Literals(["collecting", "complete"])
const line = Schema.Literals(["renters", "pet"])

const expects = Schema.Array(
  Schema.Struct({
    kind,
    place,
    /** The version from the one in store: mostly the same, sometimes one that is over or to come. */
    step: Schema.Literals([0, 0, 0, 0, 0, 0, 0, 0, -1, 1])
  })
).check(Schema.isMaxLength(2))

const Commit = Schema.TaggedStruct("commit", {
  workspace,
  writes: Schema.Array(
    Schema.Struct({
      kind,
      place,
      /** The version from the one in store: mostly the next, sometimes the same again or one too far. */
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
  /** Which of the leases that were given so far the change finishes, counted from the newest. */
  finishes: Schema.Array(between(0, 5)).check(Schema.isMaxLength(2)),
  /** How far the change moves the workspace's clock, forwards. */
  forward_ms: perhaps(between(0, 10))
})

const Claim = Schema.TaggedStruct("claim", {
  /** How much real time has passed before. */
  passed_ms: between(0, 20),
  lease_ms: between(1, 30),
  limit,
  workspace: perhaps(workspace)
})

const Release = Schema.TaggedStruct("release", {
  /** Leases that were given so far, counted from the newest. */
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
  /** The parity of the newest version's last change, as a label says it. */
  parity: perhaps(between(0, 1)),
  created_after: perhaps(moment),
  created_before: perhaps(moment),
  updated_since: perhaps(moment)
})

const Feed = Schema.TaggedStruct("feed", { workspace, after: between(0, 20), limit })

const EraseWorkspace = Schema.TaggedStruct("erase_workspace", { workspace, expects })
const EraseRecords = Schema.TaggedStruct("erase_records", { workspace, kind, created_before: moment, limit })
const EraseEvents = Schema.TaggedStruct("erase_events", { workspace, occurred_before: moment, limit })
const Workspaces = Schema.TaggedStruct("workspaces", { after: perhaps(workspace), limit: between(1, 3) })

const Write = Schema.Union([Commit, Commit, Claim])
const Read = Schema.Union([Get, Pages, Feed, Workspaces])
const Rare = Schema.Union([Release, Release, EraseWorkspace, EraseRecords, EraseRecords, EraseEvents])

/** One step of a history. It names things by their place, so that a step means something wherever it stands. */
export const Step = Schema.Union([Write, Write, Write, Write, Read, Read, Rare])
export type Step = typeof Step.Type

/** What a storage is asked to do, one step after the other. */
export type History = ReadonlyArray<Step>

/** Random histories; the longer, the larger the size that the property is checked with. */
export const histories: Arbitrary.Arbitrary<History> = Arbitrary.array(Arbitrary.schema(Step))
