/** The largest group, so that the first item does not wait for too many others. */
const most = 8

/**
 * Runs an action on all items of one turn of the event loop together, at its end or when there are enough.
 *
 * Writing an answer wakes its reader. If answers are written one by one between the work of calls, a busy host needs a quarter
 * more time for the same calls, and its callers wait longer.
 */
export const together = <A>(act: (item: A) => void): ((item: A) => void) => {
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
    if (ready.length === most) actNow()
    else if (ready.length === 1) setImmediate(actNow)
  }
}
