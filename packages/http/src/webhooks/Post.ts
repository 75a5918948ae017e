import type { WebhookAddress, WebhookSender } from "@quotewire/core"
import { type Dispatcher, errors } from "undici"
import type { Connection, Connections } from "./Connections.ts"
import { DialError } from "./Dial.ts"
import type { Found } from "./HostLookUp.ts"

/** What is read of a body before the connection is closed, in bytes. */
export const max_body_bytes = 16 * 1_024
/** The most interim answers, such as 103, that may come before the answer. */
export const max_interim = 16
/** The most addresses of a host that one POST tries to connect to. */
export const max_addresses = 3
/** How long one address may take to connect where another is left to try, in milliseconds. */
export const connect_limit_ms = 4_000

/** What a POST works with. */
export interface Means {
  readonly judge: (url: string) => WebhookAddress.Verdict
  readonly lookUp: (name: string) => Promise<Found>
  readonly connections: Connections
  readonly user_agent: string
}

/** One POST, from its URL to its outcome. */
export class Post {
  private readonly means: Means
  private readonly request: WebhookSender.WebhookRequest
  private readonly report: (outcome: WebhookSender.SendOutcome) => void
  private readonly started_at = performance.now()
  private readonly deadline: NodeJS.Timeout
  private connecting: NodeJS.Timeout | undefined
  private options: Dispatcher.DispatchOptions | undefined
  private origin = ""
  private addresses: ReadonlyArray<string> = []
  /** The address that is tried, in the order of the addresses. */
  private turn = 0
  private hasRetried = false
  private connection: Connection | null = null
  private leaveQueue: (() => void) | null = null
  private status: number | null = null
  private isOver = false

  constructor(
    means: Means,
    request: WebhookSender.WebhookRequest,
    deadline_ms: number,
    report: (outcome: WebhookSender.SendOutcome) => void
  ) {
    this.means = means
    this.request = request
    this.report = report
    this.deadline = setTimeout(() => this.expire(), deadline_ms)
    this.start()
  }

  /** Breaks the POST off; nothing is reported any more. */
  cancel(): void {
    if (this.isOver) return
    this.isOver = true
    this.letGo(false)
  }

  private start() {
    const judged = this.means.judge(this.request.url)
    if (judged.verdict === "refused") return this.finish("refused_address")
    const { url } = judged
    this.origin = url.origin
    this.options = { method: "POST", path: url.path, headers: this.headers(), body: this.request.body }
    if (url.addresses !== null) return this.go(url.addresses)
    this.means.lookUp(url.hostname).then((found) => this.go(found))
  }

  private headers(): Array<string> {
    const headers = ["user-agent", this.means.user_agent, "accept", "*/*", "accept-encoding", "identity"]
    for (const [name, value] of Object.entries(this.request.headers)) headers.push(name, value)
    return headers
  }

  private go(found: Found) {
    if (this.isOver) return
    if (found === "refused") return this.finish("refused_address")
    if (found === "none" || found === "unavailable") return this.finish("dns_failed")
    this.addresses = found.slice(0, max_addresses)
    this.tryAddress(false)
  }

  private tryAddress(fresh: boolean) {
    const address = this.addresses[this.turn]
    if (address === undefined) return this.finish("connection_failed")
    let hasStarted = false
    const leave = this.means.connections.take({ origin: this.origin, address, fresh }, (connection) => {
      hasStarted = true
      this.leaveQueue = null
      this.use(connection)
    })
    if (!hasStarted) this.leaveQueue = leave
  }

  private use(connection: Connection) {
    const { options } = this
    if (options === undefined) return
    this.connection = connection
    if (this.turn + 1 < this.addresses.length) {
      this.connecting = setTimeout(() => this.passOn("timeout"), connect_limit_ms)
    }
    connection.client.dispatch(options, this.listener(connection))
  }

  /** Listens to one try; what comes after it was given up goes nowhere. */
  private listener(connection: Connection): Dispatcher.DispatchHandler {
    let hasBegun = false
    let received_bytes = 0
    let interim = 0
    const isMine = () => this.connection === connection && !this.isOver
    // Not before undici's parser has returned: what comes next may need it.
    const then = (act: () => void) => queueMicrotask(() => (isMine() ? act() : undefined))
    return {
      onRequestStart: () => {
        hasBegun = true
        if (isMine()) clearTimeout(this.connecting)
      },
      onResponseStart: (_controller, status) => {
        if (status >= 200 && isMine()) this.status = status
        else if (++interim > max_interim) then(() => this.finish("bad_response"))
      },
      onResponseData: (_controller, chunk) => {
        received_bytes += chunk.length
        // The status is known, and more than this is of no interest.
        if (received_bytes > max_body_bytes) then(() => this.finish(null))
      },
      onResponseEnd: () => then(() => this.finish(null, true)),
      onResponseError: (_controller, error) => then(() => this.fail(connection, error, hasBegun))
    }
  }

  private fail(connection: Connection, error: Error, hasBegun: boolean) {
    if (!hasBegun) return this.passOn(error instanceof DialError ? error.failure : "connection_failed")
    const failure = this.status === null ? failureOf(error) : "bad_response"
    // A kept connection that the endpoint has closed meanwhile says nothing about the endpoint.
    const isStale = connection.isUsed && failure === "connection_failed"
    if (!isStale || this.hasRetried) return this.finish(failure)
    this.hasRetried = true
    this.putBack(false)
    this.tryAddress(true)
  }

  /** Goes on to the next address, after one at which nothing was sent. */
  private passOn(failure: WebhookSender.SendFailure) {
    if (failure === "refused_address" || this.turn + 1 >= this.addresses.length) return this.finish(failure)
    this.putBack(false)
    this.turn++
    this.tryAddress(false)
  }

  private expire() {
    if (this.addresses.length === 0) return this.finish("dns_failed")
    this.finish(this.connection === null ? "busy" : "timeout")
  }

  private finish(failure: WebhookSender.SendFailure | null, isSound = false) {
    if (this.isOver) return
    this.isOver = true
    // Whoever hears of it may send again at once: the connection must be free by then.
    this.letGo(isSound)
    this.report({
      response_status_code: this.status,
      duration_ms: Math.round(performance.now() - this.started_at),
      failure
    })
  }

  private letGo(isSound: boolean): void {
    clearTimeout(this.deadline)
    this.leaveQueue?.()
    this.putBack(isSound)
  }

  private putBack(isSound: boolean): void {
    clearTimeout(this.connecting)
    const { connection } = this
    this.connection = null
    if (connection !== null) this.means.connections.giveBack(connection, isSound)
  }
}

/** What went wrong before the status of an answer was known. */
const failureOf = (error: Error): WebhookSender.SendFailure => {
  if (error instanceof errors.HeadersOverflowError) return "too_large"
  const isGarbled =
    error instanceof errors.HTTPParserError || error instanceof errors.ResponseContentLengthMismatchError
  return isGarbled ? "bad_response" : "connection_failed"
}
