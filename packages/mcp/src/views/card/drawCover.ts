import { dollars } from "../../answers/phrases.ts"
import { type Child, element, isolated, longestName, sentence } from "./elements.ts"
import { type Cover, coverKey, type Subject } from "./Shared.ts"

/** Draws the coverages that `isShown` accepts, grouped by subject. Subjects without such coverages are omitted. */
export const drawCover = (
  subjects: ReadonlyArray<Subject>,
  isShown: (key: string) => boolean
): ReadonlyArray<HTMLElement> =>
  subjects.flatMap((subject) => {
    const covers = subject.coverages.filter((cover) => isShown(coverKey(subject, cover)))
    if (covers.length === 0) return []
    const name = subject.label === null ? sentence(subject.kind) : isolated(subject.label, longestName)
    return [
      element("h4", "", name),
      amounts(covers.map((cover) => [isolated(sentence(cover.code), longestName), extentOf(cover)]))
    ]
  })

/** A description list of names with amounts. */
export const amounts = (pairs: ReadonlyArray<readonly [name: Child, amount: string]>): HTMLElement =>
  element(
    "dl",
    "",
    ...pairs.map(([name, amount]) => element("div", "", element("dt", "", name), element("dd", "", amount)))
  )

const extentOf = ({ code, deductible, included, limit }: Cover): string => {
  if (included === false) return "Not covered"
  const kind = code.endsWith("deductible") ? "" : " deductible"
  const sums = [
    ...(limit === null ? [] : [`up to ${dollars(limit)}`]),
    ...(deductible === null ? [] : [`${dollars(deductible)}${kind}`])
  ].join(", ")
  if (included === null) return sums === "" ? "Unknown" : `Unknown; ${sums}`
  return sums === "" ? "Covered" : sums
}
