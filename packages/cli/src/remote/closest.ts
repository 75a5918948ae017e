/** The maximum number of letters in which the typed text and a suggestion may differ. */
const maxEdits = 2

/** Suggests the closest known words, as in `; the closest is quote.created`. Empty if no word is close. */
export const closest = (text: string, words: ReadonlyArray<string>): string => {
  const distances = words.map((word) => ({ word, edits: editsBetween(text.slice(0, maxLength), word) }))
  const fewest = Math.min(maxEdits, ...distances.map(({ edits }) => edits))
  const close = distances.filter(({ edits }) => edits === fewest).map(({ word }) => word)
  return close.length === 0 ? "" : `; the closest is ${close.join(" or ")}`
}

/** How many letters of the typed text are compared. No known word is longer. */
const maxLength = 64

/** The number of letters to add, drop or replace (Levenshtein distance). */
const editsBetween = (from: string, to: string): number => {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [row, letter] of Array.from(from).entries()) {
    const current = [row + 1]
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    above = current
  }
  return above.at(-1) ?? 0
}
