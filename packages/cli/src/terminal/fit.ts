/** The minimum width of a terminal, in columns, for wrapping long lines. */
const minWidth = 20
/** How many columns the continuation of a wrapped line is indented beyond its first line. */
const hanging = 4

/**
 * Splits a line into pieces that fit a width in columns. A width of 0 means that the width is unknown, so the line is
 * not split.
 *
 * Breaks between the columns of a table, or else between words. Breaks a word only if it is longer than a line.
 */
export const fit = (line: string, width: number): ReadonlyArray<string> => {
  if (width < minWidth || widthOf(line) <= width) return [line]
  const indentWidth = /^ */.exec(line)?.[0].length ?? 0
  const indent = " ".repeat(Math.min(indentWidth + hanging, Math.floor(width / 2)))
  const pieces: Array<string> = []
  let remaining = line
  while (widthOf(remaining) > width) {
    const head = prefixOf(remaining, width)
    const isFirst = pieces.length === 0
    const at = breakOf(head, isFirst ? indentWidth : indent.length)
    pieces.push(remaining.slice(0, at).trimEnd())
    remaining = indent + remaining.slice(at).trimStart()
  }
  return [...pieces, remaining]
}

/** Where to break a prefix that fits: after its last table column, its last word or its last character. */
const breakOf = (head: string, indent: number): number => {
  const column = head.lastIndexOf("  ")
  if (column > indent && head.slice(indent, column).trim() !== "") return column
  const word = head.lastIndexOf(" ")
  return word > indent ? word : head.length
}

/** Finds the longest prefix that fits. It has at least one character. */
const prefixOf = (text: string, width: number): string => {
  let length = 0
  let taken = 0
  for (const character of text) {
    taken += widthOf(character)
    if (taken > width && length > 0) break
    length += character.length
  }
  return text.slice(0, length)
}

const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\uff01-\uff60]/u
const narrow = /[\p{M}\u200d]/u

/** The number of columns that a text takes. East Asian characters and emoji take two; combining marks take none. */
const widthOf = (text: string): number => {
  let width = 0
  for (const character of text) width += narrow.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}
