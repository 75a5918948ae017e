/** So many wait at most: what was ready first must not wait for all that came with it. */
const most = 8

/**
 * Does what is ready in one turn of the process together, when the turn ends, or as soon as there is enough of it.
 *
 * An answer that is written wakes whoever reads it. Where each is written between the work for one call and for the next,
 * a busy host needs a quarter more time for the same calls, and its callers wait longer.
 */
export const together = <A>(act: (item: A) => void): ((item: A) => void) => {
  let ready: Array<A> = []
  const actOn = (items: ArrayIterator<A>): void => {
    try {
      for (const item of items) act(item)
    } catch (error) {
      // What one of them throws must not keep the others waiting.
      actOn(items)
      throw error
    }
  }
  const actNow = () => {
    const items = ready.values()
    ready = []
    actOn(items)
  }
  return (item) => {
    ready.push(item)
    if (ready.length === most) actNow()
    else if (ready.length === 1) setImmediate(actNow)
  }
}
