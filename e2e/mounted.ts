// A program does the same on startup.
import "effect/schema/SchemaJITCompiler/enable"
import { createServer, type RequestListener } from "node:http"
import { getRequestListener } from "@hono/node-server"
import { Allowance, type Embedded, embed } from "@quotewire/core"
import { NodeCrypto, NodeWebhookSender, nodeHandler } from "@quotewire/http"
import { webHandler } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import express from "express"
import { Host, loopback } from "./host.ts"
import * as Rest from "./support/rest.ts"

const basePath = "/insurance"
const options = { mcp, limits: Allowance.noLimits }

/** An embedded service, mounted below a path in another server. */
const mounted = (listenerOf: (quotewire: Embedded) => RequestListener) =>
  Layer.effect(
    Host,
    Effect.gen(function* () {
      const server = createServer()
      yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const bound = server.address()
      const port = typeof bound === "object" && bound !== null ? bound.port : 0
      const base_url = `http://127.0.0.1:${port}${basePath}`
      const quotewire = embed({
        storage: MemoryStorage.layer,
        limits: Allowance.noLimits,
        webhooks: NodeWebhookSender.layer({ policy: loopback }),
        cryptography: NodeCrypto.layer,
        public_url: base_url
      })
      server.on("request", listenerOf(quotewire))
      yield* Effect.addFinalizer(() =>
        Effect.promise(async () => {
          await quotewire.close()
          server.close()
          server.closeAllConnections()
        })
      )
      const newOrganization = Effect.promise(async () => {
        const { id: organization_id } = await quotewire.createOrganization("A journey")
        const keyOf = async (kind: "server" | "widget" | "platform") =>
          (await quotewire.createKey({ organization_id, environment: "sandbox", kind })).key
        return { server: await keyOf("server"), widget: await keyOf("widget"), platform: await keyOf("platform") }
      })
      return Host.of({ base_url, call: Rest.make(base_url), newOrganization })
    })
  )

/** `nodeHandler` in Express, behind its parser. */
export const inExpress = mounted((quotewire) =>
  express().use(basePath, express.json(), nodeHandler(quotewire, options))
)

/** `webHandler` on Node, as Hono runs it. */
export const overWeb = mounted((quotewire) =>
  getRequestListener(webHandler(quotewire, { ...options, base_path: basePath }))
)
