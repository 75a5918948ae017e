import { Resolver as DnsResolver } from "node:dns/promises"
import { networkInterfaces } from "node:os"
import { Argument, WebhookAddress, WebhookSender } from "@quotewire/core"
import { Effect, Layer, Result, type Scope } from "effect"
import { NetAddress } from "effect/net"
import { type Dispatcher, errors } from "undici"
import { type Connection, ConnectionPool, type ConnectionState } from "./ConnectionPool.ts"
import * as Destinations from "./Destinations.ts"
import * as Dial from "./Dial.ts"

/** Settings of the webhook sender. */
export interface Settings {
  /** Where webhooks may go; by default to public addresses that are not this machine's own. */
  readonly policy?: WebhookAddress.Policy
  /** Resolves host names; by default with the machine's DNS settings. Search domains are never used. */
  readonly resolver?: Destinations.Resolver
  /** How long a DNS lookup may take, in milliseconds; 5,000 by default. */
  readonly look_up_limit_ms?: number
  /** The maximum number of connections to one origin, which many subscriptions can share; 256 by default. */
  readonly connections_per_host?: number
  /** The maximum number of connections in all; 4,096 by default. */
  readonly connections?: number
  /** How long an idle connection is kept, in milliseconds; 10,000 by default. */
  readonly idle_ms?: number
  /** The certificate authorities to trust instead of the runtime's, in PEM. */
  readonly certificate_authorities?: ReadonlyArray<string>
  /** The sender's `user-agent` header. */
  readonly user_agent?: string
  /** Opens sockets; plain TCP by default. */
  readonly connect?: Dial.Connect
}

/** The default `user-agent` header. */
export const defaultUserAgent = "Quotewire-Webhooks/0.1.0"

/** The addresses of all network interfaces of this machine. */
export const ownAddresses = (): ReadonlyArray<NetAddress.IpAddress> =>
  Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.flatMap(({ address }) => {
      const parsed = NetAddress.ipFromString(address)
      return Result.isSuccess(parsed) ? [parsed.success] : []
    })
  )

const make = (settings: Settings) =>
  Effect.gen(function* () {
    const policy = settings.policy ?? { ...WebhookAddress.publicOnly, own_addresses: ownAddresses() }
    const resolver = settings.resolver ?? (yield* machineResolver)
    const find = Destinations.make(policy, resolver, settings.look_up_limit_ms)
    const connections = yield* makeConnectionPool(settings, policy)
    const userAgent = settings.user_agent ?? defaultUserAgent

    const messageOf = ({ headers, body, deadline_ms }: WebhookSender.WebhookRequest): Message => ({
      headers: { "user-agent": userAgent, accept: "*/*", "accept-encoding": "identity", ...headers },
      body,
      deadline_ms: deadline_ms ?? WebhookSender.defaultDeadlineMs
    })

    return WebhookSender.WebhookSender.of({
      keeps_deadlines: true,
      send: (request) =>
        Effect.callback((resume) => {
          const destination = find(request.url)
          if (destination === null) return resume(refused)
          const report = (outcome: WebhookSender.SendOutcome) => resume(Effect.succeed(outcome))
          const post = new Post(connections, destination, messageOf(request), report)
          return Effect.sync(() => post.cancel())
        }),
      lookUp: (url) =>
        Effect.suspend(() => {
          const destination = find(url)
          return destination === null
            ? Effect.succeed("refused")
            : Effect.map(
                Effect.promise(async () => destination.addresses),
                lookUpOf
              )
        })
    })
  })

const checked = Argument.checker("NodeWebhookSender.layer")

/** Sends webhooks from Node. Closing the scope closes all connections. */
export const layer = (settings: Settings = {}): Layer.Layer<WebhookSender.WebhookSender> =>
  Layer.effect(WebhookSender.WebhookSender, make(checked(settings)))

const refused = Effect.succeed<WebhookSender.SendOutcome>({
  response_status_code: null,
  duration_ms: 0,
  failure: "refused_address"
})

const lookUpOf = (resolution: Destinations.Resolution): WebhookSender.LookUp =>
  resolution === "unavailable" ? resolution : resolution === "refused" || resolution === "none" ? "refused" : "public"

/**
 * Resolves host names with the machine's DNS settings. Tries twice within the limit, and never uses a search domain.
 */
export const machineResolver: Effect.Effect<Destinations.Resolver, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => new DnsResolver({ timeout: 1_500, tries: 2 })),
  (resolver) => Effect.sync(() => resolver.cancel())
)

const makeConnectionPool = (settings: Settings, policy: WebhookAddress.Policy) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const dial = Dial.make({
        connect: settings.connect ?? Dial.tcp,
        isAllowed: (address) => WebhookAddress.judgeAddress(address, policy) === "public",
        certificate_authorities: settings.certificate_authorities
      })
      const bounds = {
        per_host: settings.connections_per_host ?? 256,
        total: settings.connections ?? 4_096,
        idle_ms: settings.idle_ms ?? 10_000
      }
      return new ConnectionPool(bounds, dial)
    }),
    (connections) => Effect.sync(() => connections.close())
  )

/** The maximum number of bytes to read from a response body. After that, the connection is closed. */
const maxBodyBytes = 16 * 1_024
/** The maximum number of interim responses, such as 103, before the final one. */
const maxInterim = 16
/** How many of a host's addresses one POST tries. */
const maxAddresses = 3
/** How long a POST waits for a free connection, in milliseconds. */
const maxWaitMs = 5_000
/** How long connecting to one address may take, in milliseconds, if there is another address to try. */
const connectLimitMs = 4_000

/** The content of a POST. */
interface Message {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** How long the endpoint may take, in milliseconds. */
  readonly deadline_ms: number
}

/** One POST, from resolving its host to reporting its outcome. */
class Post {
  private readonly connections: ConnectionPool
  private readonly origin: string
  private readonly options: Dispatcher.DispatchOptions
  private readonly report: (outcome: WebhookSender.SendOutcome) => void
  private readonly deadline_ms: number
  /** When the current phase began. The first phase resolves the host; the second uses a connection. */
  private began_at = performance.now()
  private deadline: NodeJS.Timeout | undefined
  private connecting: NodeJS.Timeout | undefined
  private addresses: ReadonlyArray<string> = []
  /** The index of the current address. */
  private address_index = 0
  private hasConnected = false
  private hasRetried = false
  private connection: Connection | null = null
  private leaveQueue: (() => void) | null = null
  private status: number | null = null
  private isOver = false

  constructor(
    connections: ConnectionPool,
    { origin, path, addresses }: Destinations.Destination,
    { headers, body, deadline_ms }: Message,
    report: (outcome: WebhookSender.SendOutcome) => void
  ) {
    this.connections = connections
    this.origin = origin
    this.options = { method: "POST", path, headers, body }
    this.deadline_ms = deadline_ms
    this.report = report
    this.start(addresses)
  }

  /** Aborts the POST. Its outcome is not reported. */
  cancel(): void {
    if (this.isOver) return
    this.isOver = true
    this.releaseConnection("broken")
  }

  private start(addresses: Destinations.Destination["addresses"]) {
    if (!(addresses instanceof Promise)) return this.go(addresses)
    this.deadline = setTimeout(() => this.finish("dns_failed"), this.deadline_ms)
    addresses.then((resolution) => this.go(resolution))
  }

  private go(resolution: Destinations.Resolution) {
    if (this.isOver) return
    if (resolution === "refused") return this.finish("refused_address")
    if (resolution === "none" || resolution === "unavailable") return this.finish("dns_failed")
    this.addresses = resolution.slice(0, maxAddresses)
    this.tryAddress(false)
    if (this.hasConnected || this.isOver) return
    clearTimeout(this.deadline)
    this.deadline = setTimeout(() => this.finish("busy"), Math.min(this.deadline_ms, maxWaitMs))
  }

  private tryAddress(isFresh: boolean) {
    const address = this.addresses[this.address_index]
    if (address === undefined) return this.finish("connection_failed")
    let hasStarted = false
    const leave = this.connections.take({ origin: this.origin, address, fresh: isFresh }, (connection) => {
      hasStarted = true
      this.leaveQueue = null
      this.sendOn(connection)
    })
    if (!hasStarted) this.leaveQueue = leave
  }

  private sendOn(connection: Connection) {
    if (!this.hasConnected) this.connected()
    this.connection = connection
    connection.statusLine.begin(() => {
      if (this.connection === connection && !this.isOver) this.finish("too_large")
    })
    if (this.address_index + 1 < this.addresses.length) {
      this.connecting = setTimeout(() => this.tryNextAddress("timeout"), connectLimitMs)
    }
    connection.client.dispatch(this.options, this.listener(connection))
  }

  /**
   * Restarts the deadline when the POST gets its first connection, so that the endpoint has its full time even if the
   * POST waited long.
   */
  private connected() {
    this.hasConnected = true
    clearTimeout(this.deadline)
    this.began_at = performance.now()
    this.deadline = setTimeout(() => this.finish("timeout", "hung"), this.deadline_ms)
  }

  /** Creates the event handler of one attempt. It ignores events after the end of the attempt. */
  private listener(connection: Connection): Dispatcher.DispatchHandler {
    let hasBegun = false
    let receivedBytes = 0
    let interim = 0
    const isMine = () => this.connection === connection && !this.isOver
    // Runs the callback after undici's parser has returned, because the callback may close the connection.
    const defer = (callback: () => void) => queueMicrotask(() => (isMine() ? callback() : undefined))
    return {
      onRequestStart: () => {
        hasBegun = true
        if (isMine()) clearTimeout(this.connecting)
      },
      onResponseStart: (_controller, status) => {
        if (status >= 200 && isMine()) this.status = status
        else if (++interim > maxInterim) defer(() => this.finish("bad_response"))
      },
      onResponseData: (_controller, chunk) => {
        receivedBytes += chunk.length
        // The status is already known, so the rest of a long body is not needed.
        if (receivedBytes > maxBodyBytes) defer(() => this.finish(null))
      },
      onResponseEnd: () => defer(() => this.finish(null, "reusable")),
      onResponseError: (_controller, error) => defer(() => this.fail(connection, error, hasBegun))
    }
  }

  private fail(connection: Connection, error: Error, hasBegun: boolean) {
    if (!hasBegun) return this.tryNextAddress(error instanceof Dial.DialError ? error.failure : "connection_failed")
    const failure = this.status === null ? failureOf(error) : "bad_response"
    // An endpoint may have closed an idle connection before the POST reached it. That is not the endpoint's failure, so
    // try again.
    const isStale = connection.isUsed && failure === "connection_failed" && !connection.statusLine.hasBegun
    if (!isStale || this.hasRetried) return this.finish(failure)
    this.hasRetried = true
    this.endTry("broken")
    this.tryAddress(true)
  }

  /** Tries the next address. Called only if nothing was sent to the current address. */
  private tryNextAddress(failure: WebhookSender.SendFailure) {
    if (failure === "refused_address" || this.address_index + 1 >= this.addresses.length) return this.finish(failure)
    this.endTry("broken")
    this.address_index++
    this.tryAddress(false)
  }

  private finish(failure: WebhookSender.SendFailure | null, state: ConnectionState = "broken") {
    if (this.isOver) return
    this.isOver = true
    const response_status_code = this.status ?? this.connection?.statusLine.status ?? null
    // Returns the connection to the pool before reporting the outcome, because the listener may immediately send
    // another POST.
    this.releaseConnection(state)
    this.report({
      response_status_code,
      duration_ms: Math.round(performance.now() - this.began_at),
      failure
    })
  }

  private releaseConnection(state: ConnectionState): void {
    clearTimeout(this.deadline)
    this.leaveQueue?.()
    this.endTry(state)
  }

  private endTry(state: ConnectionState): void {
    clearTimeout(this.connecting)
    const { connection } = this
    this.connection = null
    if (connection !== null) this.connections.release(connection, state)
  }
}

/** The failure of a POST that got no usable response. */
const failureOf = (error: Error): WebhookSender.SendFailure => {
  if (error instanceof errors.HeadersOverflowError) return "too_large"
  const isGarbled =
    error instanceof errors.HTTPParserError || error instanceof errors.ResponseContentLengthMismatchError
  return isGarbled ? "bad_response" : "connection_failed"
}
