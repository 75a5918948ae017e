import { once } from "node:events"
import { createServer } from "node:net"
import { assert } from "@effect/vitest"
import { Effect } from "effect"

/** A port of this machine that nothing listens on. */
export const freePort = Effect.promise(async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return typeof address === "object" && address !== null ? address.port : assert.fail("no port")
})
