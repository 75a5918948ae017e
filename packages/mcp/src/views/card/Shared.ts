import type { Quote } from "./Result.ts"

/** What all quotes have in common. The card shows it once, so that the differences are easy to see. */
export interface Shared {
  /** The `coverKey`s of covers. */
  readonly covers: ReadonlySet<string>
  readonly conditions: ReadonlySet<string>
  /** The labels of assumptions. */
  readonly assumptions: ReadonlySet<string>
  /** The labels that say how reliable the prices are. */
  readonly labels: ReadonlySet<string>
  /** The labels of the prices per month, which say what they compare. */
  readonly comparisons: ReadonlySet<string>
  /** Whether all quotes are from a sandbox. If so, the names of their carriers need not say it. */
  readonly is_sandbox: boolean
}

export type Subject = Quote["coverage"]["subjects"][number]
export type Cover = Subject["coverages"][number]

/** A key that is equal for two covers of the same subject with the same amounts. */
export const coverKey = ({ kind, label, subject_id }: Subject, cover: Cover): string =>
  JSON.stringify([subject_id, kind, label, cover])

/** What these quotes have in common; nothing if there is only one. */
export const of = (quotes: ReadonlyArray<Quote>): Shared => ({
  covers: common(quotes, ({ coverage }) =>
    coverage.subjects.flatMap((subject) => subject.coverages.map((cover) => coverKey(subject, cover)))
  ),
  conditions: common(quotes, ({ coverage }) => coverage.conditions),
  assumptions: common(quotes, ({ evidence }) => evidence.assumptions.map(({ label }) => label)),
  labels: common(quotes, ({ evidence }) => [evidence.label]),
  // A quote without a price has no price per month.
  comparisons: common(
    quotes.filter(({ price }) => price.comparison !== null),
    ({ price }) => [price.comparison?.label ?? ""]
  ),
  is_sandbox: quotes.length > 1 && quotes.every(({ environment }) => environment === "sandbox")
})

/** The name of a carrier, without "(sandbox)" if all quotes are from a sandbox. */
export const nameOf = ({ name }: Quote["source"]["carrier"], { is_sandbox }: Pick<Shared, "is_sandbox">): string =>
  is_sandbox ? name.replace(/ \(sandbox\)$/, "") : name

const common = (
  quotes: ReadonlyArray<Quote>,
  partsOf: (quote: Quote) => ReadonlyArray<string>
): ReadonlySet<string> => {
  const [first, ...others] = quotes.map((quote) => new Set(partsOf(quote)))
  if (first === undefined || others.length === 0) return new Set()
  return new Set([...first].filter((part) => others.every((parts) => parts.has(part))))
}
