import type { Effect } from "effect"

/** What a journey says of a call beyond its input. */
export interface CallOptions {
  readonly key?: string
  readonly read_handle?: string
  readonly idempotency_key?: string
}

/** An answer as a journey sees it, whatever host gave it. */
export interface Answer {
  readonly status: number
  // Journeys read answers as a program in another language would, by what the document says of them.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is checked against the OpenAPI document
  readonly body: any
}

/** The keys of an organization's sandbox. */
export interface Keys {
  readonly server: string
  readonly widget: string
  readonly platform: string
}

/** Calls an operation by its name, with the server key unless told. */
export type Call = (keys: Keys, operation: string, input: object, options?: CallOptions) => Effect.Effect<Answer>
