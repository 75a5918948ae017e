/**
 * A bounded buffer of calls that wait to be written, oldest first.
 *
 * When it is full, the oldest calls are dropped and counted as lost.
 */
export class CallBuffer<Call> {
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

  /** Takes all calls out of the buffer. */
  take(): ReadonlyArray<Call> {
    const taken = this.calls
    this.calls = []
    return taken
  }

  /** Puts calls back that could not be written. They are older than those that came meanwhile. */
  putBack(calls: ReadonlyArray<Call>): void {
    this.calls = [...calls, ...this.calls]
    this.drop(this.calls.length - this.room)
  }

  /** How many calls were lost since the last time this was called. */
  takeLost(): number {
    const { lost } = this
    this.lost = 0
    return lost
  }

  // Drops a tenth at a time, because removing the first element moves all others.
  private drop(count: number): void {
    if (count > 0) this.lost += this.calls.splice(0, count).length
  }
}
