import { holds } from "./Choices.ts"

/*
 * A template is a file of the new project with two kinds of marks. `{{name}}` stands for a value. `//? json|xml` at the
 * end of a line keeps the line only if the condition holds; on a line of its own it begins a block, which ends at a mark
 * without a condition. A mark begins like a comment in the file: `//?`, `#?` or `<!--?`.
 */

const mark = /[ \t]*(?:\/\/|#|<!--)\?(.*?)(?:-->)?$/

/** The text of a template with these values, for these chosen words. */
export const render = (
  template: string,
  words: ReadonlySet<string>,
  values: Readonly<Record<string, string>>
): string => {
  let isKept = true
  const lines = template.split("\n").flatMap((line) => {
    const found = mark.exec(line)
    if (found === null) return isKept ? [line] : []
    const condition = (found[1] ?? "").trim()
    const isChosen = condition === "" || holds(condition, words)
    if (found.index > 0) return isKept && isChosen ? [line.slice(0, found.index)] : []
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
