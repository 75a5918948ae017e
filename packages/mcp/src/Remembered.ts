/**
 * The same function, which remembers what it has made of the texts of late.
 *
 * What is read over and over seldom changes, a quote's version never. At most `most` texts are remembered, and then all
 * are forgotten together.
 */
export const remembered = (most: number, make: (text: string) => string): ((text: string) => string) => {
  const made = new Map<string, string>()
  return (text) => {
    const known = made.get(text)
    if (known !== undefined) return known
    if (made.size >= most) made.clear()
    const fresh = make(text)
    made.set(text, fresh)
    return fresh
  }
}
