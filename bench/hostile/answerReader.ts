import { CarrierTransport } from "@quotewire/core"
import { CarrierHttp } from "@quotewire/core/testing"
import { Effect, type Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import * as Child from "../Child.ts"
import { answers } from "./answers.ts"

/** The cost of one answer: the CPU time of the process, and the peak growth of its memory. */
export interface Cost {
  readonly reason: string
  readonly cpu_ms: number
  readonly memory_mb: number
}

/** Reads a body as a carrier adapter does. Returns the reason why it is refused. */
const read = async (body: string, schema: Schema.Decoder<unknown>): Promise<string> => {
  const answering = HttpClient.make((request) =>
    Effect.succeed(HttpClientResponse.fromWeb(request, new Response(body)))
  )
  const http = await Effect.runPromise(
    CarrierHttp.make(
      { base_url: "https://carrier.example" },
      { environment: "live", connection: {}, timeout_ms: 15_000, idempotent: true }
    ).pipe(Effect.provideService(CarrierTransport, answering))
  )
  const answer = await http.get("/quotes")
  try {
    answer.json(schema)
    return "none"
  } catch (error) {
    return error instanceof Error && "reason" in error ? String(error.reason) : "unknown"
  }
}

/*
 * Each process reads only one answer, because peak memory can only be measured per process. Before that, it reads short
 * answers to load the code.
 */
Child.answer(async (name: string): Promise<Cost> => {
  const match = answers.find((answer) => answer.name === name)
  if (match === undefined) throw new Error(`There is no answer ${name}`)
  for (let i = 0; i < 20; i++) await read('{"quotes":[{}]}', match.schema)
  const body = match.body()
  globalThis.gc?.()
  const cpu = process.cpuUsage()
  const { maxRSS } = process.resourceUsage()
  const reason = await read(body, match.schema)
  const { system, user } = process.cpuUsage(cpu)
  return { reason, cpu_ms: (user + system) / 1e3, memory_mb: (process.resourceUsage().maxRSS - maxRSS) / 1024 }
})
