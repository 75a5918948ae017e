/** Puts an entry into a map that is to hold at most so many: one more takes the place of the oldest. */
export const keepNewest = <K, V>(map: Map<K, V>, most: number, key: K, value: V): void => {
  if (map.size >= most && !map.has(key)) {
    const oldest = map.keys().next()
    if (oldest.done !== true) map.delete(oldest.value)
  }
  map.set(key, value)
}
