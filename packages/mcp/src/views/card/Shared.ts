import type { Quote } from "./Result.ts"

/** What all quotes have in common. The card shows it once, so that the differences are easy to see. */
export interface SharedParts {
  /** The `coverKey` of each common coverage. */
  readonly covers: ReadonlySet<string>
  readonly conditions: ReadonlySet<string>
  /** The labels of the common assumptions. */
  readonly assumptions: ReadonlySet<string>
  /** The common labels that say how reliable the prices are. */
  readonly labels: ReadonlySet<string>
  /** The common labels of the monthly prices, which say what these prices are for. */
  readonly comparisons: ReadonlySet<string>
  /** Whether all quotes are from a sandbox. If so, the carriers' names need not say so. */
  readonly is_sandbox: boolean
}

export type Subject = Quote["coverage"]["subjects"][number]
export type Cover = Subject["coverages"][number]

/** A key for a coverage. It is equal for two coverages of the same subject with the same amounts. */
export const coverKey = ({ kind, label, subject_id }: Subject, cover: Cover): string =>
  JSON.stringify([subject_id, kind, label, cover])

/** Finds what these quotes have in common; empty if there is only one quote. */
export const of = (quotes: ReadonlyArray<Quote>): SharedParts => ({
  covers: common(quotes, ({ coverage }) =>
    coverage.subjects.flatMap((subject) => subject.coverages.map((cover) => coverKey(subject, cover)))
  ),
  conditions: common(quotes, ({ coverage }) => coverage.conditions),
  assumptions: common(quotes, ({ evidence }) => evidence.assumptions.map(({ label }) => label)),
  labels: common(quotes, ({ evidence }) => [evidence.label]),
  // A quote without a price has no monthly price.
  comparisons: common(
    quotes.filter(({ price }) => price.comparison !== null),
    ({ price }) => [price.comparison?.label ?? ""]
  ),
  is_sandbox: quotes.length > 1 && quotes.every(({ environment }) => environment === "sandbox")
})

/** A carrier's name, without "(sandbox)" if all quotes are from a sandbox. */
export const nameOf = (
  { name }: Quote["source"]["carrier"],
  { is_sandbox }: Pick<SharedParts, "is_sandbox">
): string => (is_sandbox ? name.replace(/ \(sandbox\)$/, "") : name)

const common = (
  quotes: ReadonlyArray<Quote>,
  partsOf: (quote: Quote) => ReadonlyArray<string>
): ReadonlySet<string> => {
  const [first, ...others] = quotes.map((quote) => new Set(partsOf(quote)))
  if (first === undefined || others.length === 0) return new Set()
  return new Set([...first].filter((part) => others.every((parts) => parts.has(part))))
}
