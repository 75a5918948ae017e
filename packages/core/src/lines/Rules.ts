import type { FieldError } from "../wire/ApiError.ts"

/** An `A` of which any part may be absent; what is there is right. */
export type Draft<A> =
  A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Draft<Item>>
    : A extends object
      ? { readonly [K in keyof A]?: Draft<A[K]> }
      : A

/**
 * The rules of a line: what no JSON Schema can say, such as whether facts fit each other, the calendar and the law.
 *
 * They read drafts, so that one answer names these problems besides the missing and malformed facts. `today` is the
 * workspace's day, `YYYY-MM-DD`.
 */
export type Rules<A> = (draft: Draft<A>, today: string, problems: Problems) => void

/** Collects what is wrong with facts and what is missing. Paths start with `application`. */
export class Problems {
  readonly wrong: Array<FieldError>
  readonly missing: Array<FieldError>
  /** How many wrong fields there are besides those that are named. */
  readonly more: number

  constructor(wrong: ReadonlyArray<FieldError> = [], missing: ReadonlyArray<FieldError> = [], more = 0) {
    this.wrong = [...wrong]
    this.missing = [...missing]
    this.more = more
  }

  /** Whether there is nothing wrong and nothing missing. */
  isEmpty(): boolean {
    return this.wrong.length + this.missing.length + this.more === 0
  }

  /** Adds a fact that is wrong. */
  refuse(path: string, message: string, allowed_values?: ReadonlyArray<string>): void {
    this.wrong.push(allowed_values === undefined ? { path, message } : { path, message, allowed_values })
  }

  /** Adds a fact that is missing, unless it is known to be. */
  require(path: string, message: string, allowed_values: ReadonlyArray<string>): void {
    if (!this.missing.some((error) => error.path === path)) this.missing.push({ path, message, allowed_values })
  }
}
