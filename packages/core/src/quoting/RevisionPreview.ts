import { Effect, Schema } from "effect"
import type { Call } from "../calls/Call.ts"
import * as Revision from "../calls/Revision.ts"
import type { Events } from "../events/Events.ts"
import { QuoteId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import type { Quotes } from "./Quotes.ts"

/** The input for previewing revisions: the quote to show. */
export const PreviewInput = Schema.Struct({
  id: Schema.String.annotateKey({ description: "The quote, `qt_…`" })
})
export type PreviewInput = typeof PreviewInput.Type

const Form = Schema.Record(Schema.String, Schema.Unknown)

/** A quote and one of its events, in the form of each served revision. */
export const RevisionPreview = Schema.Struct({
  revisions: Schema.Array(
    Schema.Struct({
      revision: Schema.String.annotateKey({ description: "The date of the revision, as in `Service-Version`" }),
      quote: Form.annotateKey({ description: "The newest version of the quote, as this revision shows it" }),
      event: Schema.NullOr(Form).annotateKey({
        description: "The oldest event about the quote in the feed, as this revision shows it; null if there is none"
      })
    })
  ).annotateKey({ description: "The served revisions, newest first" })
})
export type RevisionPreview = typeof RevisionPreview.Type

/** The services that a preview reads from. */
interface Reads {
  readonly quotes: Quotes["Service"]
  readonly events: Events["Service"]
}

/** Shows a quote and one of its events in the form of each served revision (api.md, Previewing revisions). */
export const preview = Effect.fnUntraced(function* (reads: Reads, call: Call, { id }: PreviewInput) {
  const served = yield* Revision.ServedRevisions
  const quote = yield* reads.quotes.get(call, { id })
  const feed = yield* reads.events.list(call, { quote_id: Schema.decodeSync(QuoteId)(id), limit: 1 })
  const { events } = Json.decode(feed)
  const event = events[0] === undefined ? null : Json.encode(events[0])
  return Json.object<RevisionPreview>({
    revisions: Json.array(
      served.map((revision) =>
        Json.object<RevisionPreview["revisions"][number]>({
          revision: Json.encode(revision.date),
          quote: Json.typed(Revision.resource(revision, "quote", quote)),
          event: event === null ? Json.encode(null) : Json.typed(Revision.resource(revision, "event", event))
        })
      )
    )
  })
})
