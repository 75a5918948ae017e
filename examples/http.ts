import "effect/schema/SchemaJITCompiler/enable"
import { Access, operations, PublicUrl, Quotewire, Seal, type Storage } from "@quotewire/core"
import { Handoff, Http, NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer } from "effect"

/** The core, its storage and its background jobs. */
const core = Quotewire.worker.pipe(
  Layer.provideMerge(Quotewire.layer),
  Layer.provideMerge(MemoryStorage.layer),
  Layer.provide(Quotewire.sandboxCarriers),
  Layer.provide(Seal.SealKeys.layerEphemeral),
  Layer.provide(PublicUrl.layer("http://127.0.0.1:8080")),
  Layer.provide(NodeWebhookSender.layer()),
  Layer.provide(NodeCrypto.layer)
)

const program = Effect.gen(function* () {
  const context = yield* Layer.build(core)
  const access = Context.get(context, Access.Access)
  const { id: organization_id } = yield* access.createOrganization("Acme")
  const { key } = yield* access.createKey({ organization_id, environment: "sandbox", kind: "server" })

  // Port 0 picks a free port.
  const host = yield* Layer.build(
    Http.layer<Quotewire.Services | Storage.Storage>({
      operations,
      routes: [Handoff.route(Quotewire.go)],
      ready: Quotewire.ready,
      wake: Effect.provideContext(Quotewire.releaseLongPolls, context),
      port: 0
    })
  ).pipe(Effect.provideContext(context))
  const { base_url } = Context.get(host, Http.Host)

  const answer = yield* Effect.promise(() =>
    fetch(`${base_url}/v1/capabilities?line=pet`, { headers: { authorization: `Bearer ${key}` } })
  )
  console.log(answer.status, answer.headers.get("service-version"))
})

// Ends the scope immediately, to stop the server. A real server would wait with `Effect.never`.
await Effect.runPromise(Effect.scoped(program))
