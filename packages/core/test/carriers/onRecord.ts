import { Effect, Layer, Metric } from "effect"
import { HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { Seal, withSealing } from "../../src/access/sealing/Seal.ts"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import {
  type CarrierExchange,
  ExchangeRecording,
  OnCarrierExchange
} from "../../src/carriers/recorder/CarrierExchange.ts"
import * as StoredExchange from "../../src/carriers/recorder/StoredExchange.ts"
import { kinds } from "../../src/kinds.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { carriers, offers, type ScriptedCarrier } from "../quoting/carriers.ts"
import { type InWorld, live, pass, start, testInWorld, work } from "../support/world.ts"

/** The recorded exchanges of an environment, oldest first, unsealed as by an operator's program. */
export const onRecord = (environment: "sandbox" | "live" = "live") =>
  Effect.gen(function* () {
    const storage = withSealing(yield* Storage, yield* Seal, kinds)
    const { organization } = yield* World
    const workspace_id = organization.workspaces[environment]
    const page = yield* storage.page({
      workspace_id,
      kind: StoredExchange.kind.name,
      order: "oldest",
      after: null,
      limit: 500
    })
    return page.records.map(StoredExchange.kind.value)
  })

/** The stored exchanges, still sealed. */
export const stored = Effect.gen(function* () {
  const storage = yield* Storage
  const { organization } = yield* World
  const workspace_id = organization.workspaces.live
  const page = yield* storage.page({
    workspace_id,
    kind: StoredExchange.kind.name,
    order: "oldest",
    after: null,
    limit: 500
  })
  return page.records.map(({ body }) => body)
})

/** The carrier's server, and the rest of the core's surroundings. */
interface Surroundings {
  readonly answer?: (request: Request) => Response | "never" | "refused"
  readonly recording?: { readonly sandbox: "all" | "failures" | "none"; readonly live: "all" | "failures" | "none" }
  readonly onExchange?: (exchange: CarrierExchange) => void
  /** The metrics registry of the test. */
  readonly metrics?: Metric.MetricRegistry
}

export const all = { sandbox: "all", live: "all" } as const

/** A carrier's server in memory. */
const server = (answer: NonNullable<Surroundings["answer"]>) =>
  HttpClient.make((request, url) =>
    Effect.gen(function* () {
      const sent = yield* Effect.orDie(HttpClientRequest.toWeb(request))
      const answered = answer(new Request(url, sent))
      if (answered === "never") return yield* Effect.never
      if (answered === "refused") {
        const cause = Object.assign(new Error("hidden"), { code: "ECONNREFUSED" })
        const reason = new HttpClientError.TransportError({ request, cause })
        return yield* Effect.fail(new HttpClientError.HttpClientError({ reason }))
      }
      return HttpClientResponse.fromWeb(request, answered)
    })
  )

/** The body of a test, its carriers, and what surrounds them. */
interface Recorded extends Surroundings {
  readonly body: InWorld<unknown>
  readonly scripted: ScriptedCarrier | ReadonlyArray<ScriptedCarrier>
}

/** A test with carriers behind a server. */
export const testRecorded = (
  name: string,
  body: InWorld<unknown>,
  scripted: ScriptedCarrier | ReadonlyArray<ScriptedCarrier>,
  surroundings: Surroundings = {}
) => testRecordedBy(name, () => ({ ...surroundings, body, scripted }))

/** A test with carriers behind a server. The body and the carriers share state, which is made anew for each run. */
export const testRecordedBy = (name: string, make: () => Recorded) =>
  testInWorld(name, () => {
    const { answer = () => Response.json({}), body, metrics, onExchange, recording = all, scripted } = make()
    return {
      ...carriers(...[scripted].flat()),
      surroundings: Layer.mergeAll(
        Layer.succeed(CarrierTransport, server(answer)),
        Layer.succeed(ExchangeRecording, recording),
        metrics === undefined ? Layer.empty : Layer.succeed(Metric.MetricRegistry, metrics),
        onExchange === undefined ? Layer.empty : Layer.succeed(OnCarrierExchange, onExchange)
      ),
      body
    }
  })

/** Starts a live request and lets time pass. */
export const ask = (millis = 10) =>
  Effect.gen(function* () {
    yield* work
    const { id } = yield* start({}, live)
    yield* pass(millis)
    return id
  })

/** Sends a request as an adapter does, and reads the answer. */
export const send = (request: HttpClientRequest.HttpClientRequest, reply: CarrierReply = offers()) =>
  Effect.gen(function* () {
    const client = yield* CarrierTransport
    yield* Effect.flatMap(client.execute(request), (response) => response.text)
    return reply
  }).pipe(Effect.orDie)
