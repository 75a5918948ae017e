import type { FieldError } from "../wire/ApiError.ts"
import type { BrokenRule } from "../wire/BrokenRule.ts"

const maxListed = 100
const maxPath = 200

/**
 * Collects mistakes in the order in which they are found. It keeps the first hundred mistakes, and counts the others.
 */
export class PlanFaults {
  readonly #listed: Array<BrokenRule> = []
  #more = 0

  /** Adds a mistake. */
  add(path: string, message: string): void {
    if (this.#listed.length < maxListed) this.#listed.push({ path: path.slice(0, maxPath), message })
    else this.#more += 1
  }

  /** Adds a mistake in a field. `path` is prepended to the field's own path. */
  addField(path: string, { allowed_values = [], message, path: field }: FieldError): void {
    this.add(path + field, allowed_values.length === 0 ? message : `Must be one of ${allowed_values.join(", ")}.`)
  }

  /** Adds a mistake unless a rule holds. Returns whether the rule holds. */
  require(isFulfilled: boolean, path: string, message: string): boolean {
    if (!isFulfilled) this.add(path, message)
    return isFulfilled
  }

  /** The mistakes. If there were more than a hundred mistakes, the last entry counts the others. */
  all(): ReadonlyArray<BrokenRule> {
    return this.#more === 0
      ? this.#listed
      : [
          ...this.#listed,
          { path: "", message: this.#more === 1 ? "There is 1 more error." : `There are ${this.#more} more errors.` }
        ]
  }
}
