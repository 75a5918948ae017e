/** An event in the feed. */
export interface FeedEvent {
  readonly id: string
  readonly type: string
  readonly occurred_at: string
  readonly resource: { readonly type: string; readonly id: string; readonly version: number }
}

const final: ReadonlySet<string> = new Set(
  ["completed", "failed", "cancelled", "incomplete"].map((type) => `quote_request.${type}`)
)

/** Whether an event of this type is the last one of its request. */
export const isFinal = (type: string): boolean => final.has(type)
