import { createServer } from "node:http"
import { type Embedded, embed, operations, type Quotewire, type Storage, WebhookSender } from "@quotewire/core"
import { Http } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"

/** A service and its host, mounted below a path. */
export interface Serving {
  readonly quotewire: Embedded
  readonly base_url: string
  readonly close: () => Promise<void>
}

const webhooks = Layer.succeed(WebhookSender.WebhookSender, {
  send: () => Effect.succeed({ response_status_code: 200, duration_ms: 1, failure: null }),
  lookUp: () => Effect.succeed("public" as const)
})

/** Embeds a service, and serves it over HTTP. */
export const serve = async (settings: { readonly cors_origins?: ReadonlyArray<string> } = {}): Promise<Serving> => {
  const quotewire = embed({ storage: MemoryStorage.layer, webhooks })
  const mounted = { ...settings, operations, base_url: "https://host.example/insurance" }
  const { handle } = await quotewire.run(Http.handler<Quotewire.Services | Storage.Storage>(mounted))
  const server = createServer((request, response) => {
    // As an application that mounts it does.
    request.url = request.url?.replace(/^\/insurance/, "") ?? "/"
    handle(request, response)
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const bound = server.address()
  return {
    quotewire,
    base_url: `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}/insurance`,
    close: async () => {
      await quotewire.close()
      server.close()
      server.closeAllConnections()
    }
  }
}
