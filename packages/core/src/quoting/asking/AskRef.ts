import { Schema } from "effect"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { QuoteRequestId, WorkspaceId } from "../../wire/Ids.ts"

/** What a carrier's own number for an ask stands for: the ask, or null if only a callback has named the number so far. */
export const AskRef = Schema.Struct({
  ask: Schema.NullOr(Schema.Struct({ workspace_id: WorkspaceId, quote_request_id: QuoteRequestId }))
})
export type AskRef = typeof AskRef.Type

/**
 * Carriers' own numbers in the directory, because a callback does not say whose ask it answers.
 *
 * A number leads nowhere once its request is erased. It holds nothing about a person.
 */
export const kind = Kind.make({
  name: "ask_ref",
  schema: AskRef,
  kept_for: { period: "quotes", clock: "real" }
})

/** The storage id of a carrier's number. */
export const idOf = (carrier_id: string, ref: string): string => `${carrier_id} ${ref}`

/** The stored record of a number. Times in milliseconds of real time. */
export const toStored = (
  carrier_id: string,
  ref: string,
  value: AskRef,
  meta: Pick<Kind.RecordMeta, "version" | "created_at" | "updated_at">
): StoredRecord => kind.record(value, { id: idOf(carrier_id, ref), ...meta })

const form = /^[^\p{C}]{1,200}$/u

/** Whether text can be a carrier's number: 1 to 200 characters, without control characters. */
export const isRef = (text: string): boolean => form.test(text)
