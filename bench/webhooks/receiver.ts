import { createServer } from "node:http"
import { bind } from "../bind.ts"
import * as Child from "../Child.ts"

/** Tells the receiver to listen, or asks what it has received so far. */
export type Question = { readonly ask: "listen" } | { readonly ask: "got" }

/** Where the receiver listens. */
export interface ListeningAddress {
  readonly url: string
}

/** What the receiver has received so far. This proves that every delivery that was counted as delivered has arrived. */
export interface Arrivals {
  readonly posts: number
  readonly bytes: number
  readonly cpu_us: number
}

let posts = 0
let bytes = 0

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  // Senders that get no report of outcomes ask here how many POSTs have arrived.
  if (request.method === "GET") return response.end(`${posts}`)
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length
  })
  request.on("end", () => {
    posts += 1
    response.writeHead(204).end()
  })
})

const listen = async (): Promise<ListeningAddress> => ({ url: `http://127.0.0.1:${await bind(server)}` })

const got = (): Arrivals => {
  const { user, system } = process.cpuUsage()
  return { posts, bytes, cpu_us: user + system }
}

Child.answer((question: Question): Promise<ListeningAddress> | Arrivals =>
  question.ask === "listen" ? listen() : got()
)
