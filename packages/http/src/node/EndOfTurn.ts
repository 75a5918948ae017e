/** At most this many items wait, so that the first is not delayed by all that arrived with it. */
const maxReady = 8

/**
 * Runs an action on all items of one turn of the event loop together: at its end, or once enough have arrived.
 *
 * Each written answer wakes its reader. If answers are written one by one between calls, starts reach 0.89 of the
 * throughput and 0.87 of the throughput per CPU second, and reads 0.97 and 0.93 (medians; see bench/README.md).
 */
export const atEndOfTurn = <A>(act: (item: A) => void): ((item: A) => void) => {
  let ready: Array<A> = []
  const actOn = (items: ArrayIterator<A>): void => {
    try {
      for (const item of items) act(item)
    } catch (error) {
      // If one action throws, the others must still run.
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
    if (ready.length === maxReady) actNow()
    else if (ready.length === 1) setImmediate(actNow)
  }
}
