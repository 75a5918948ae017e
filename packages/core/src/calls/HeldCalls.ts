/**
 * Calls that wait to be written, oldest first.
 *
 * There is room for so many; where they are full, the oldest make room and are counted as lost.
 */
export class HeldCalls<Call> {
  private calls: Array<Call> = []
  private lost = 0
  private readonly room: number

  constructor(room: number) {
    this.room = room
  }

  get size(): number {
    return this.calls.length
  }

  add(call: Call): void {
    if (this.calls.length >= this.room) this.drop(Math.ceil(this.room / 10))
    this.calls.push(call)
  }

  /** Takes all of them out. */
  take(): ReadonlyArray<Call> {
    const taken = this.calls
    this.calls = []
    return taken
  }

  /** Takes back what was taken and not written: it is older than what has come since. */
  giveBack(calls: ReadonlyArray<Call>): void {
    this.calls = [...calls, ...this.calls]
    this.drop(this.calls.length - this.room)
  }

  /** How many were lost since this was last asked. */
  takeLost(): number {
    const { lost } = this
    this.lost = 0
    return lost
  }

  // Some at a time: to move all the others up for each would cost every call what only the log is about.
  private drop(count: number): void {
    if (count > 0) this.lost += this.calls.splice(0, count).length
  }
}
