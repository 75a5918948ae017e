import { createServer } from "node:http"
import { bind } from "../bind.ts"
import * as Child from "../Child.ts"
import { answer, declined } from "./carrier.ts"

/** Asks for one more API of a carrier, or for what all of them have got so far. */
export type Question =
  /** `declines_after_ms`: declines everything, after so long; null: quotes everything at once. */
  { readonly ask: "listen"; readonly declines_after_ms: number | null } | { readonly ask: "got" }

/** Where an API listens. */
export interface Listening {
  readonly url: string
}

/** What was asked so far: the proof that everything that was counted as answered has been asked. */
export interface Got {
  readonly asks: number
  readonly bytes: number
  readonly cpu_us: number
}

let asks = 0
let bytes = 0

const headers = { "content-type": "application/json" }

const listen = async (declines_after_ms: number | null): Promise<Listening> => {
  const body = JSON.stringify(declines_after_ms === null ? answer : declined)
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const end = () => {
      response.writeHead(200, { ...headers, "content-length": Buffer.byteLength(body) }).end(body)
    }
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on("end", () => {
      asks += 1
      if (declines_after_ms === null || declines_after_ms === 0) end()
      else setTimeout(end, declines_after_ms)
    })
  })
  return { url: `http://127.0.0.1:${await bind(server)}` }
}

const got = (): Got => {
  const { user, system } = process.cpuUsage()
  return { asks, bytes, cpu_us: user + system }
}

if (import.meta.main) {
  Child.answer((question: Question): Promise<Listening> | Got =>
    question.ask === "listen" ? listen(question.declines_after_ms) : got()
  )
}

/** The process of the carriers' APIs. */
export interface CarrierApi {
  readonly listen: (declines_after_ms: number | null) => Promise<Listening>
  readonly got: () => Promise<Got>
  readonly stop: () => Promise<void>
}

/** Starts the process, on the core that puts load on the others. */
export const start = (): CarrierApi => {
  const child = Child.start("carriers/carrierApi.ts", Child.cores.load)
  const ask = <Answer>(question: Question) => child.ask<Answer>(question)
  return {
    listen: (declines_after_ms: number | null) => ask<Listening>({ ask: "listen", declines_after_ms }),
    got: () => ask<Got>({ ask: "got" }),
    stop: child.stop
  }
}
