import { Schema } from "effect"

/** A scalar that JSON can hold. */
export const Scalar = Schema.NullOr(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))
export type Scalar = typeof Scalar.Type

/** A fact that the caller did not send, and the value that was assumed for it. */
export const Assumption = Schema.Struct({
  path: Schema.String,
  value: Scalar,
  source: Schema.String,
  label: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "Assumption" })
export type Assumption = typeof Assumption.Type

/** `T` with these members required. */
export type WithRequired<T, K extends keyof T> = T & { readonly [P in K]-?: Exclude<T[P], undefined> }

/** Collects the assumptions that are made while facts are completed. Paths are relative to `application`. */
export class Assumptions {
  readonly #made: Array<Assumption> = []

  /** Returns the fact as sent. If it was not sent, records and returns the assumed value. */
  fill<A extends Scalar>(sent: A | undefined, path: string, value: A, label: string, source = "service_default"): A {
    if (sent !== undefined) return sent
    this.record(path, value, label, source)
    return value
  }

  /** Records an assumed value. */
  record(path: string, value: Scalar, label: string, source = "service_default"): void {
    this.#made.push({ path: `application.${path}`, value, source, label })
  }

  /** The assumptions, sorted by path. */
  sorted(): ReadonlyArray<Assumption> {
    return this.#made.sort((a, b) => (a.path < b.path ? -1 : 1))
  }
}
