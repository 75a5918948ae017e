import type { FieldError } from "../wire/ApiError.ts"

/** An `A` of which any part may be missing. The parts that are present are valid. */
export type Draft<A> =
  A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Draft<Item>>
    : A extends object
      ? { readonly [K in keyof A]?: Draft<A[K]> }
      : A

/**
 * The rules of a line that JSON Schema cannot express: consistency between facts, the calendar, the law.
 *
 * They read drafts, so that one answer reports these problems together with missing and malformed facts. `today` is the
 * workspace's day, `YYYY-MM-DD`.
 */
export type Rules<A> = (draft: Draft<A>, today: string, problems: Problems) => void

/** Collects wrong and missing facts. Paths start with `application`. */
export class Problems {
  readonly wrong: Array<FieldError>
  readonly missing: Array<FieldError>
  /** The number of wrong fields that `wrong` does not list. */
  readonly more: number

  constructor(wrong: ReadonlyArray<FieldError> = [], missing: ReadonlyArray<FieldError> = [], more = 0) {
    this.wrong = [...wrong]
    this.missing = [...missing]
    this.more = more
  }

  /** Whether there are no problems. */
  isEmpty(): boolean {
    return this.wrong.length + this.missing.length + this.more === 0
  }

  /** Adds a wrong fact. */
  refuse(path: string, message: string, allowed_values?: ReadonlyArray<string>): void {
    this.wrong.push(allowed_values === undefined ? { path, message } : { path, message, allowed_values })
  }

  /** Adds a missing fact, unless it is listed already. */
  require(path: string, message: string, allowed_values: ReadonlyArray<string>): void {
    if (!this.missing.some((error) => error.path === path)) this.missing.push({ path, message, allowed_values })
  }
}
