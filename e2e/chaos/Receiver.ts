import { createServer } from "node:http"
import { buffer } from "node:stream/consumers"
import { verifyWebhook } from "@quotewire/core"

/** A webhook receiver that records what arrived, by event, and whatever should not have happened. */
export interface Received {
  /** The bodies of an event's deliveries. */
  readonly bodies: ReadonlyMap<string, ReadonlyArray<string>>
  readonly wrong: ReadonlyArray<string>
}

/** Opens a receiver. */
export const open = async () => {
  const bodies = new Map<string, Array<string>>()
  const wrong: Array<string> = []
  const secrets = new Map<string, string>()
  let isRefusing = false
  const server = createServer(async (request, response) => {
    try {
      const body = await buffer(request)
      if (isRefusing) {
        response.writeHead(503).end()
        return
      }
      const secret = secrets.get(request.url ?? "")
      if (secret === undefined) throw new Error(`Nobody has subscribed ${request.url}`)
      const { ok } = await verifyWebhook({ secrets: [secret], headers: request.headers, body })
      if (!ok) throw new Error("A delivery is not signed as it should be")
      const id = `${request.headers["webhook-id"]}`
      bodies.set(id, [...(bodies.get(id) ?? []), body.toString()])
      response.writeHead(204).end()
    } catch (error) {
      // A delivery cut short because its host was killed is not an error.
      if (request.complete) wrong.push(String(error))
      response.destroy()
    }
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    received: { bodies, wrong } satisfies Received,
    urlOf: (name: string) => `http://127.0.0.1:${port}/${name}`,
    /** Returns 503 from now on and records nothing. */
    refuse: () => {
      isRefusing = true
    },
    /** Accepts deliveries again. */
    accept: () => {
      isRefusing = false
    },
    trust: (name: string, secret: string) => secrets.set(`/${name}`, secret),
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

/** A listening receiver. */
export type OpenReceiver = Awaited<ReturnType<typeof open>>
