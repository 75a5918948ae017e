import { operations, PublicUrl, Quotewire, Seal } from "@quotewire/core"
import { Http, NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import { fastify } from "fastify"

const base_url = "http://127.0.0.1:8080"

const core = Quotewire.worker.pipe(
  Layer.provideMerge(Quotewire.layer),
  Layer.provideMerge(MemoryStorage.layer),
  Layer.provide(Quotewire.sandboxCarriers),
  Layer.provide(Seal.SealKeys.layerEphemeral),
  Layer.provide(PublicUrl.layer(base_url)),
  Layer.provide(NodeWebhookSender.layer()),
  Layer.provide(NodeCrypto.layer)
)

const program = Effect.gen(function* () {
  const { handle } = yield* Http.handler<Quotewire.Services>({ operations, base_url })
  const app = fastify()
  // Fastify parses JSON bodies before its handlers run: pass on the result.
  app.all("/v1/*", (request, reply) => {
    reply.hijack()
    handle(Object.assign(request.raw, { body: request.body }), reply.raw)
  })
  yield* Effect.addFinalizer(() => Effect.promise(() => app.close()))

  const { statusCode } = yield* Effect.promise(async () => {
    const address = await app.listen({ port: 0 })
    const answer = await fetch(`${address}/v1/quote-requests`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}"
    })
    return { statusCode: answer.status }
  })
  console.log(statusCode)
})

// The answer is 401, because the call has no key. A real server would wait with `Effect.never`.
await Effect.runPromise(Effect.scoped(Effect.provide(program, core)))
