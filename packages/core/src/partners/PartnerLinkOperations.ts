import { Clock, Effect, Schema } from "effect"
import * as PartnerLink from "../access/PartnerLink.ts"
import { Seal } from "../access/sealing/Seal.ts"
import * as Operation from "../calls/Operation.ts"
import { Timelines } from "../timeline/Timelines.ts"
import { Recoveries } from "../webhooks/deliveries/Recoveries.ts"
import { type KeyId, QuoteRequestId, type WorkspaceId } from "../wire/Ids.ts"
import { wholeNumber } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import { dayMs, secondMs, Timestamp } from "../wire/Timestamp.ts"

const maxDays = 30
const defaultDays = 7

/** The input fields of a new link: what it shows, and for how long. */
export const linkFields = {
  shared_id: PartnerLink.SharedId.annotateKey({
    description: "What the link shows: a quote request, `qreq_…`, or an event subscription, `sub_…`"
  }),
  expires_in_days: Schema.optionalKey(wholeNumber(1, maxDays)).annotateKey({
    description: `After how many days the link expires: 1 to ${maxDays}; ${defaultDays} by default`
  })
}
type LinkInput = Schema.Struct.Type<typeof linkFields>

/** A new link: its token, what it shows, and when it expires. */
export const NewLink = Schema.Struct({
  token: Schema.String.annotateKey({ description: "The token, shown only here. Whoever has it can use the link" }),
  shared_id: PartnerLink.SharedId.annotateKey({ description: "What the link shows" }),
  expires_at: Timestamp.annotateKey({ description: "When it expires, in real time" })
}).annotate({ identifier: "PartnerLink" })

const isQuoteRequestId = Schema.is(QuoteRequestId)

/** Creates a link to a resource in a workspace. Fails with `not_found` if the resource does not exist. */
export const makeLink = Effect.fnUntraced(function* (
  { made_by, workspace_id }: { readonly workspace_id: WorkspaceId; readonly made_by: KeyId | null },
  { expires_in_days = defaultDays, shared_id }: LinkInput
) {
  yield* isQuoteRequestId(shared_id)
    ? (yield* Timelines).read(shared_id, { workspace_id, exchanges: false, causes: false, limit: 1 })
    : (yield* Recoveries).list(workspace_id, shared_id)
  const ends_at_s = Math.floor((yield* Clock.currentTimeMillis) / secondMs) + (expires_in_days * dayMs) / secondMs
  const link = { workspace_id, shared_id, made_by, ends_at_s }
  const token = yield* PartnerLink.write(yield* Seal, link)
  return Json.encode({ token, shared_id, expires_at: PartnerLink.endOf(link) })
})

/** Creates a link that lets a partner read one resource (api.md, Partner links). */
export const createPartnerLink = Operation.make({
  name: "create_partner_link",
  summary: "Create a partner link",
  description:
    "A token that reads one quote request with its quotes and events, or the health and deliveries of one event subscription, until it expires. It is read-only, and shows no facts about the person.",
  tag: "Partner links",
  route: { method: "POST", path: "/v1/partner-links", query: {}, status: 201 },
  authority: { callers: ["server"] },
  cost: { other: 1 },
  idempotent: false,
  input: Schema.Struct(linkFields),
  output: NewLink,
  errors: ["not_found"],
  run: ({ caller: { key_id, workspace_id } }, input) => makeLink({ workspace_id, made_by: key_id }, input)
})
