import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { type Embedded, embed, WebhookAddress } from "@quotewire/core"
import { NodeWebhookSender, nodeHandler } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"

/** A host in this process, with the console. */
export interface Host {
  readonly quotewire: Embedded
  readonly server: Server
  readonly address: string
}

/** Starts a host that serves the console to integrators and operators. */
export const serve = async (): Promise<Host> => {
  const quotewire = embed({
    storage: MemoryStorage.layer,
    webhooks: NodeWebhookSender.layer({
      policy: { ...WebhookAddress.publicOnly, allow: WebhookAddress.readNetworks("127.0.0.1/32") ?? [] }
    })
  })
  const server = createServer(nodeHandler(quotewire, { console: true, operators: true }))
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  return { quotewire, server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** An endpoint that returns 500 until it is told otherwise. */
export const failing = async () => {
  let status = 500
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(status).end())
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    answer: (next: number) => {
      status = next
    },
    close: () => new Promise<void>((resolve) => void server.close(() => resolve()))
  }
}
