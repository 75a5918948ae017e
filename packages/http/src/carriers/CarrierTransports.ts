import { createGunzip } from "node:zlib"
import { NodeHttpClient, NodeStream } from "@effect/platform-node"
import { Argument, CarrierConnections, CarrierTransport, WebhookAddress, WholeAnswers } from "@quotewire/core"
import { type Context, Deferred, Effect, Layer, type Scope, Stream } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { Agent, type buildConnector } from "undici"
import type * as Destinations from "../webhooks/Destinations.ts"
import * as Dial from "../webhooks/Dial.ts"
import { machineResolver, ownAddresses } from "../webhooks/NodeWebhookSender.ts"
import * as AnswerReceiver from "./AnswerReceiver.ts"
import * as ContentEncoding from "./ContentEncoding.ts"
import { FreeConnections } from "./FreeConnections.ts"
import * as GuardedConnector from "./GuardedConnector.ts"
import * as RefusingClient from "./RefusingClient.ts"

/** Settings of the HTTP client for carriers. */
export interface Settings {
  /**
   * Whether requests may reach only public addresses, under the same rules as webhooks: https only, the host name is
   * resolved and checked for each connection, and this machine's own addresses are refused. False by default, because
   * the operator chooses the carriers.
   */
  readonly public_addresses_only?: boolean
  /**
   * The address policy for `public_addresses_only`. By default it allows all public addresses except this machine's
   * own.
   */
  readonly policy?: WebhookAddress.Policy
  /** Resolves host names for `public_addresses_only`; by default with the machine's DNS settings. */
  readonly resolver?: Destinations.Resolver
  /**
   * The maximum number of connections to one origin; 32 by default. Requests beyond this limit wait up to ten seconds.
   * That wait does not count toward the carrier's timeouts, because the carrier did not cause it.
   */
  readonly connections_per_origin?: number
  /** How long an idle connection is kept, in milliseconds; 4,000 by default. A carrier can ask for a shorter time. */
  readonly idle_ms?: number
  /** How long connecting to one address may take, including TLS, in milliseconds; 5,000 by default. */
  readonly connect_limit_ms?: number
  /** The certificate authorities to trust instead of the runtime's, in PEM. */
  readonly certificate_authorities?: ReadonlyArray<string>
  /**
   * Client certificates and keys for mutual TLS, by host name, such as `api.acme.example`. Each is used for its host
   * only.
   */
  readonly client_certificates?: Readonly<Record<string, Dial.ClientCertificate>>
}

/** The maximum size of a response's headers, in bytes. */
const maxHeaderBytes = 16 * 1_024

/** Creates an HTTP client for carriers on Node. Closing the scope closes all its connections. */
export const make = (settings: Settings = {}): Effect.Effect<HttpClient.HttpClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const connect = yield* connectorOf(settings)
    const agent = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Agent({
            connect,
            connections: limitOf(settings),
            factory: RefusingClient.pool,
            pipelining: 1,
            allowH2: false,
            maxHeaderSize: maxHeaderBytes,
            keepAliveTimeout: settings.idle_ms ?? 4_000,
            keepAliveMaxTimeout: settings.idle_ms ?? 4_000
          })
      ),
      (undiciAgent) => Effect.promise(() => undiciAgent.destroy())
    )
    const client = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, agent)
    const decompressing = client.pipe(
      HttpClient.mapRequest(ContentEncoding.accepting),
      HttpClient.transformResponse(Effect.map(decompressed))
    )
    return WholeAnswers.offer(decompressing, AnswerReceiver.make(agent))
  })

const limitOf = ({ connections_per_origin = 32 }: Settings): number => connections_per_origin

/** Creates the service that limits the number of connections to each host of a carrier. */
const makeConnections = (settings: Settings): Context.Service.Shape<typeof CarrierConnections> => {
  const connections = new FreeConnections(limitOf(settings))
  const hold = (host: string, onFree: () => void) => connections.hold(host, onFree)
  return {
    hold,
    take: (host) =>
      Effect.flatMap(Deferred.make<void>(), (isFree) =>
        Effect.andThen(
          Effect.acquireRelease(
            Effect.sync(() => hold(host, () => Deferred.doneUnsafe(isFree, Effect.void))),
            (leave) => Effect.sync(leave)
          ),
          Deferred.await(isFree)
        )
      )
  }
}

const checked = Argument.checker("CarrierTransports.layer")

/**
 * Sends requests to carriers from Node.
 *
 * @example
 * CarrierTransports.layer({ public_addresses_only: true })
 */
export const layer = (settings: Settings = {}): Layer.Layer<never> =>
  Layer.merge(
    Layer.effect(CarrierTransport, make(checked(settings))),
    Layer.sync(CarrierConnections, () => makeConnections(settings))
  )

/** Decompresses a gzipped response body as it is read. Bodies with any other encoding stay unchanged. */
const decompressed = (response: HttpClientResponse.HttpClientResponse): HttpClientResponse.HttpClientResponse => {
  const { request, status } = response
  if (!ContentEncoding.isCompressed(status, response.headers)) return response
  const body = NodeStream.pipeThroughDuplex(response.stream, {
    evaluate: () => createGunzip(),
    // Reads few buffers at a time, so that a reader with a size limit stops early.
    chunkSize: 16,
    onError: (cause) =>
      new HttpClientError.HttpClientError({ reason: new HttpClientError.DecodeError({ request, response, cause }) })
  })
  const headers = ContentEncoding.decompressedHeaders(response.headers)
  return HttpClientResponse.fromWeb(request, new Response(Stream.toReadableStream(body), { status, headers }))
}

/** Opens connections. A host receives only its own client certificate. */
const connectorOf = Effect.fnUntraced(function* (settings: Settings) {
  const { certificate_authorities, client_certificates = {}, connect_limit_ms = 5_000 } = settings
  const policy = settings.policy ?? { ...WebhookAddress.publicOnly, own_addresses: ownAddresses() }
  const resolver = settings.resolver ?? (yield* machineResolver)
  const connectorFor = (client_certificate?: Dial.ClientCertificate): buildConnector.connector => {
    const tls: Dial.TlsSettings = { certificate_authorities, client_certificate }
    return settings.public_addresses_only === true
      ? GuardedConnector.make({ ...tls, policy, resolver, connect_limit_ms })
      : Dial.tls(tls, connect_limit_ms)
  }
  const withoutCertificate = connectorFor()
  const withCertificate = new Map(
    Object.entries(client_certificates).map(([host, certificate]) => [host.toLowerCase(), connectorFor(certificate)])
  )
  return (...[options, callback]: Parameters<buildConnector.connector>): void =>
    (withCertificate.get(options.hostname) ?? withoutCertificate)(options, callback)
})
