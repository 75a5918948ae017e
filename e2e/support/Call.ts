import type { Effect } from "effect"

/** Options of a journey's call besides its input. */
export interface CallOptions {
  readonly key?: string
  readonly read_handle?: string
  readonly idempotency_key?: string
}

/** A response as a journey sees it, from any host. */
export interface Answer {
  readonly status: number
  // Journeys read responses as a program in another language would, following the OpenAPI document.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is checked against the OpenAPI document
  readonly body: any
}

/** The keys of an organization's sandbox. */
export interface Keys {
  readonly server: string
  readonly widget: string
  readonly platform: string
}

/** Calls an operation by name, with the server key by default. */
export type Call = (keys: Keys, operation: string, input: object, options?: CallOptions) => Effect.Effect<Answer>
