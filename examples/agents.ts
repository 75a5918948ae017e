import { operations, PublicUrl, Quotewire, Seal } from "@quotewire/core"
import { Http, MessageRoute, NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { asking, Endpoint, mailboxes, Tools } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer } from "effect"

const core = Quotewire.worker.pipe(
  Layer.provideMerge(Quotewire.layer),
  Layer.provideMerge(MemoryStorage.layer),
  Layer.provide(Quotewire.sandboxCarriers),
  Layer.provide(Seal.SealKeys.layerEphemeral),
  Layer.provide(PublicUrl.layer("http://127.0.0.1:8787")),
  Layer.provide(NodeWebhookSender.layer()),
  Layer.provide(NodeCrypto.layer)
)

const endpoint = Endpoint.make<Quotewire.Services>({
  tools: Tools.of<Quotewire.Services>(operations),
  version: "1.0.0",
  asking,
  mailboxes,
  sign: (text) => Quotewire.sign("mcp_session", text),
  isSigned: (text, signature) => Quotewire.isSigned("mcp_session", text, signature)
})
const routes = MessageRoute.make(endpoint, { allowed: ["https://agent.example"], loopback: false })

const program = Effect.gen(function* () {
  // Port 0 picks a free port.
  const { base_url } = Context.get(
    yield* Layer.build(Http.layer<Quotewire.Services>({ operations, routes, port: 0 })),
    Http.Host
  )
  const { status } = yield* Effect.promise(() => fetch(`${base_url}/v1/mcp`, { method: "POST" }))
  console.log(status)
})

// A call without a key gets a 401. A real server would continue with `Effect.never`.
await Effect.runPromise(Effect.scoped(Effect.provide(program, core)))
