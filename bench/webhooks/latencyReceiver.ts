import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Child from "../Child.ts"
import { now } from "./latencyClock.ts"

/** What the bench asks the receiver: where it listens, or what has arrived since it was last asked. */
export type Question = "port" | "arrivals"

/** A webhook that has arrived, and when. */
export interface Arrival {
  readonly event_id: string
  readonly path: string
  readonly at: number
}

let arrivals: Array<Arrival> = []
const take = (): ReadonlyArray<Arrival> => {
  const taken = arrivals
  arrivals = []
  return taken
}

// What goes to /hang is noted like everything else, and never answered.
const server = createServer((request, response) => {
  const at = now()
  const { url: path = "", headers } = request
  arrivals.push({ event_id: String(headers["webhook-id"]), path, at })
  request.resume()
  if (!path.startsWith("/hang")) request.once("end", () => response.writeHead(204).end())
})
server.keepAliveTimeout = 60_000

// On every address of the machine, so that each endpoint of 127.0.0.0/8 is a host of its own.
const port = new Promise<number>((resolve) => {
  server.listen({ host: "0.0.0.0", port: 0, backlog: 4_096 }, () => resolve(portOf(server.address())))
})
const portOf = (address: AddressInfo | string | null): number =>
  typeof address === "object" && address !== null ? address.port : Number.NaN

Child.answer((question: { readonly about: Question }) => (question.about === "port" ? port : take()))
