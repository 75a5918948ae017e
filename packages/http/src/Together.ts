/** So many wait for the end of a turn at most: what is first must not wait for all that came with it. */
const most = 8

/**
 * Does what is due in one turn of the process together, as the turn ends, or as soon as there is enough of it.
 *
 * An answer that is written wakes whoever reads it. Written one by one, between the work for one call and for the next,
 * answers cost a fifth more: the two processes take turns, and neither finds its memory in the cache again.
 */
export const together = <A>(act: (item: A) => void): ((item: A) => void) => {
  let waiting: Array<A> = []
  const actNow = () => {
    const items = waiting
    waiting = []
    for (const item of items) act(item)
  }
  return (item) => {
    waiting.push(item)
    if (waiting.length === most) actNow()
    else if (waiting.length === 1) setImmediate(actNow)
  }
}
