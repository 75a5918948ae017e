import { assert } from "@effect/vitest"
import type { Source } from "./sources.ts"

/** What a rule examined, and what it found wrong. */
export interface Finding {
  readonly at: string
  readonly wrong: string | null
}

/** A rule that examines nothing is useless, so it fails as well. */
export const holds = (findings: Iterable<Finding>): void => {
  const all = [...findings]
  assert.isAbove(all.length, 0, "The rule has looked at nothing")
  const wrong = all.filter((one) => one.wrong !== null).map(({ at, wrong: what }) => `${at}: ${what}`)
  assert.deepStrictEqual(wrong, [])
}

export const finding = (at: string, isRight: boolean, wrong: string): Finding => ({ at, wrong: isRight ? null : wrong })

/** A finding for each source, with every match of a pattern that must not occur in it. */
export const without = (
  among: ReadonlyArray<Source>,
  pattern: RegExp,
  part: "code" | "text" = "code"
): ReadonlyArray<Finding> =>
  among.map((source) => {
    const found = Array.from(source[part].matchAll(pattern), ([match]) => match)
    return finding(source.path, found.length === 0, `contains ${found.join(", ")}`)
  })
