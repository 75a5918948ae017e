import type { IncomingHttpHeaders } from "node:http"
import { type Embedded, verifyWebhook } from "@quotewire/core"

/** The parts of an event that a handler reads. */
export interface HandledEvent {
  readonly id: string
  readonly type: string
  readonly resource: { readonly id: string }
}

/** What drizzle.ts, kysely.ts and prisma.ts create for a database. */
export interface Recipe {
  /** Handles an event. Resolves to false if the event was handled before. */
  readonly handle: (event: HandledEvent) => Promise<boolean>
  readonly close: () => Promise<void>
}

/** Consumes events in a program that embeds the service. If the handler fails, the service retries the event. */
export const consume = (quotewire: Pick<Embedded, "consume">, { handle }: Recipe) =>
  quotewire.consume("announcements", handle, { types: ["quote.created"] })

/** Handles a webhook. Respond with the returned status, or with 500 if this fails, so that the event is resent. */
export const receive = async (
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  { handle, secrets }: Recipe & { readonly secrets: ReadonlyArray<string> }
): Promise<204 | 400> => {
  const { ok } = await verifyWebhook({ secrets, headers, body })
  if (!ok) return 400
  const event: HandledEvent = JSON.parse(new TextDecoder().decode(body))
  if (event.type === "quote.created") await handle(event)
  return 204
}
