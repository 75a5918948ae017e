import { createServer } from "node:http"
import { bind } from "../bind.ts"
import * as Child from "../Child.ts"
import { answer } from "./carrier.ts"

/** `listen` starts another carrier API. `got` asks what all APIs have received so far. */
export type Question = { readonly ask: "listen" } | { readonly ask: "got" }

/** Where a carrier API listens. */
export interface ListeningAddress {
  readonly url: string
}

/** How many asks were received so far. This proves that every ask that was counted as answered was really sent. */
export interface ApiCounts {
  readonly asks: number
  readonly bytes: number
  readonly cpu_us: number
}

let asks = 0
let bytes = 0

const headers = { "content-type": "application/json" }

const body = JSON.stringify(answer)

const listen = async (): Promise<ListeningAddress> => {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on("end", () => {
      asks += 1
      response.writeHead(200, { ...headers, "content-length": Buffer.byteLength(body) }).end(body)
    })
  })
  return { url: `http://127.0.0.1:${await bind(server)}` }
}

const got = (): ApiCounts => {
  const { user, system } = process.cpuUsage()
  return { asks, bytes, cpu_us: user + system }
}

if (import.meta.main) {
  Child.answer((question: Question): Promise<ListeningAddress> | ApiCounts =>
    question.ask === "listen" ? listen() : got()
  )
}

/** The process in which the carrier APIs run. */
export interface CarrierApi {
  readonly listen: () => Promise<ListeningAddress>
  readonly got: () => Promise<ApiCounts>
  readonly stop: () => Promise<void>
}

/** Starts the process on the load generator's core. */
export const start = (): CarrierApi => {
  const child = Child.start("carriers/carrierApi.ts", Child.cores.load)
  const ask = <Answer>(question: Question) => child.ask<Answer>(question)
  return {
    listen: () => ask<ListeningAddress>({ ask: "listen" }),
    got: () => ask<ApiCounts>({ ask: "got" }),
    stop: child.stop
  }
}
