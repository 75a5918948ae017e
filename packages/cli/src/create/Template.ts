import { holds } from "./Choices.ts"

/*
 * A template is a file of the new project that contains two kinds of marks. `{{name}}` is replaced with a value.
 * `//? json|xml` is a condition: at the end of a line, it keeps the line only if the condition holds; on a line of its
 * own, it begins a block, which ends at the next mark without a condition. A condition's mark begins like a comment in
 * the file: `//?`, `#?` or `<!--?`.
 */

const mark = /[ \t]*(?:\/\/|#|<!--)\?(.*?)(?:-->)?$/

/** Renders a template with these values and the words that stand for the user's choices. */
export const render = (
  template: string,
  words: ReadonlySet<string>,
  values: Readonly<Record<string, string>>
): string => {
  let isKept = true
  const lines = template.split("\n").flatMap((line) => {
    const markMatch = mark.exec(line)
    if (markMatch === null) return isKept ? [line] : []
    const condition = (markMatch[1] ?? "").trim()
    const isChosen = condition === "" || holds(condition, words)
    if (markMatch.index > 0) return isKept && isChosen ? [line.slice(0, markMatch.index)] : []
    isKept = isChosen
    return []
  })
  return lines.join("\n").replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => valueOf(values, name))
}

const valueOf = (values: Readonly<Record<string, string>>, name: string): string => {
  const value = values[name]
  if (value === undefined) throw new Error(`There is no value named ${name}.`)
  return value
}
