/** Maps a list. It gives the list itself back where every item stays the same, so that long lists are not copied for nothing. */
export const mapChanged = (items: ReadonlyArray<unknown>, map: (item: unknown) => unknown): ReadonlyArray<unknown> => {
  let changed: Array<unknown> | null = null
  for (let at = 0; at < items.length; at++) {
    const item = map(items[at])
    if (item === items[at]) continue
    changed ??= [...items]
    changed[at] = item
  }
  return changed ?? items
}
