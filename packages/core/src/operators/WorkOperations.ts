import { Effect, Schema } from "effect"
import { jobKinds } from "../storage/Job.ts"
import { Nothing } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import { fromMillis, Timestamp } from "../wire/Timestamp.ts"
import * as OperatorOperation from "./OperatorOperation.ts"
import { maxCounted, WorkReports } from "./WorkReports.ts"

const days = (description: string) => Schema.Int.annotateKey({ description })

const Report = Schema.Struct({
  next_due_at: Schema.NullOr(Timestamp).annotateKey({
    description: "When the oldest unclaimed job was, or will be, due; null if no job is waiting"
  }),
  waits_ms: Schema.Int.annotateKey({
    description: "How long that job has waited, in milliseconds. If this keeps growing, no process is running jobs"
  }),
  backlog: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        kind: Schema.Literals(jobKinds).annotateKey({ description: "The kind of job" }),
        due: Schema.Int.annotateKey({ description: "How many are due" }),
        oldest_due_at: Timestamp.annotateKey({ description: "When the oldest of them was due" })
      })
    )
  ).annotateKey({
    description: `The jobs that are due and that nobody has claimed, by kind; at most ${maxCounted} are counted in each cell. Null if the storage does not count them`
  }),
  retention: Schema.Struct({
    events_days: days("Events and deliveries"),
    facts_days: days("The facts of applications"),
    quotes_days: days("Quote requests with their quotes, and the audit log"),
    consents_days: days("Records of consent and of erasures"),
    requests_days: days("The request log"),
    feedback_days: days("Reports about the API"),
    exchanges_days: days("Recorded exchanges with carriers")
  }).annotateKey({ description: "How long data is kept, in days" }),
  processes: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        name: Schema.String.annotateKey({
          description: "The process ID and the machine, such as 4711@host-1"
        }),
        since: Timestamp.annotateKey({ description: "When the oldest of its connections was opened" })
      })
    )
  ).annotateKey({ description: "The processes that are connected to the storage; null if it does not know them" }),
  cells: Schema.Array(
    Schema.Struct({
      name: Schema.String.annotateKey({ description: "The name of the cell" }),
      ready: Schema.Boolean.annotateKey({ description: "Whether it can be used now" }),
      moving: Schema.Boolean.annotateKey({ description: "Whether it is being moved to another database" })
    })
  ).annotateKey({ description: "The cells of the storage; empty if it has none" })
}).annotate({ identifier: "WorkReport" })

/** Shows whether due jobs run in time. */
export const getWork = OperatorOperation.make({
  name: "get_work",
  summary: "Check whether due work gets done",
  description: "The oldest job that waits, the due jobs by kind, the cells of the storage, and how long data is kept.",
  tag: "Work",
  route: { method: "GET", path: "/operator/v1/work", query: {}, status: 200 },
  scope: "read",
  reach: "deployment",
  input: Nothing,
  output: Report,
  errors: [],
  run: () =>
    WorkReports.use(({ read }) =>
      Effect.map(read, ({ backlog, next_due_at, processes, ...report }) =>
        Json.encode({
          ...report,
          next_due_at: next_due_at === null ? null : fromMillis(next_due_at),
          processes: processes?.map(({ name, since }) => ({ name, since: fromMillis(since) })) ?? null,
          backlog:
            backlog?.map((kindBacklog) => ({ ...kindBacklog, oldest_due_at: fromMillis(kindBacklog.oldest_due_at) })) ??
            null
        })
      )
    )
})
