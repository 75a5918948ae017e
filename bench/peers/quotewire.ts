import { Access, operations, Quotewire } from "@quotewire/core"
import { Http, MessageRoute, ServiceApi } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, ManagedRuntime } from "effect"
import { storage } from "../pg/Databases.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import * as Issuer from "./issuer.ts"
import * as Peer from "./Peer.ts"

/** With `--token`, the host accepts an issuer's tokens, and the load uses a token instead of a key. */
const issuer = process.argv.includes("--token") ? await Issuer.make() : null
const agents =
  issuer === null
    ? { routes: MessageRoute.make(mcp(), { allowed: [], loopback: false }) }
    : ServiceApi.of({ mcp, oauth: issuer.oauth })

/** The database URL after `--database`. Without it, the storage is in memory. */
const [, database] = process.argv.slice(process.argv.indexOf("--database") >>> 0)

/** With `--many-quotes`, creates more quotes than any cache of responses would hold. */
const requests = process.argv.includes("--many-quotes") ? 200 : 1

/**
 * Quotewire's own host with the whole call pipeline. Every call is counted and logged. With `--work`, the process also
 * runs due jobs.
 */
const host = Http.layer<ServiceApi.Services>({ ...agents, operations, port: 0 }).pipe(
  Layer.provideMerge(process.argv.includes("--work") ? Quotewire.worker : Layer.empty),
  Layer.provideMerge(Service.layerOn(database === undefined ? MemoryStorage.layer : storage(database)))
)

Peer.run(() =>
  ManagedRuntime.make(host).runPromise(
    Effect.gen(function* () {
      const { base_url, port } = yield* Http.Host
      const key = yield* Service.makeKey
      const quoteIds = yield* Effect.forEach(
        Array.from({ length: requests }, (_, index) => index),
        (index) => Service.makeQuotes(key, starts.smallest(`the-quote-${index}`))
      )
      const quote_ids = quoteIds.flat().map(({ id }) => id)
      const [organization] = yield* Effect.flatMap(Access.Access, (access) => access.listOrganizations)
      const token =
        issuer === null ? null : yield* Effect.promise(() => issuer.sign(organization?.id ?? "", `${base_url}/v1/mcp`))
      return { port, key: token ?? key, quote_id: quote_ids[0] ?? "", quote_ids }
    })
  )
)
