/** Protects something that only one fault at a time may affect. */
export class Lock {
  private last: Promise<unknown> = Promise.resolve()
  private waiting = 0

  /** Whether nobody holds it. */
  get isFree(): boolean {
    return this.waiting === 0
  }

  /** Runs work after all earlier work has ended. */
  async alone<A>(work: () => Promise<A>): Promise<A> {
    this.waiting += 1
    const mine = this.last.then(work, work)
    this.last = mine.catch(() => undefined)
    try {
      return await mine
    } finally {
      this.waiting -= 1
    }
  }
}
