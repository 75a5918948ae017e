import { tracingChannel } from "node:diagnostics_channel"
import type { Server } from "node:net"
import { type Embedded, Hints } from "@quotewire/core"
import { Effect } from "effect"

/*
 * Loaded before a program: tells the test on which port the program listens, and, if asked, how many long polls wait in its
 * service. So the programs can stay as the guide shows them.
 */

const tell = (message: object) => process.send?.(message)

const portOf = (server: Server): number => {
  const bound = server.address()
  return typeof bound === "object" && bound !== null ? bound.port : 0
}

tracingChannel<string, { readonly server: Server }>("net.server.listen").subscribe({
  start: () => {},
  end: () => {},
  asyncStart: () => {},
  asyncEnd: ({ server }) => tell({ port: portOf(server) }),
  error: () => {}
})

/** The service of the program: what a module exports, or a global one as in Next. */
const service = async (): Promise<Embedded> =>
  Reflect.get(globalThis, "quotewireService") ?? (await import(process.env.SERVICE_MODULE ?? "")).quotewire

process.on("message", async () => {
  const quotewire = await service()
  tell({ polls: await quotewire.run(Effect.flatMap(Hints.LongPolls, (polls) => polls.count)) })
})
// The program may exit while the test is listening.
process.channel?.unref()
