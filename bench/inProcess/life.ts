import { Json } from "@quotewire/core"
import { Effect } from "effect"
import * as Child from "../Child.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import { median } from "../statistics.ts"
import { heapBytes, key, repeated, run, time } from "./world.ts"

/** Tells the process to take this many quote requests through their complete lives, `at_once` of them concurrently. */
export interface Lives {
  readonly requests: number
  readonly at_once: number
}

/**
 * The cost of a quote request's complete life: from its start through every carrier's answer to its end. The
 * workspace's clock is advanced for this.
 */
export interface Lived {
  readonly requests: number
  readonly at_once: number
  readonly quotes_each: number
  readonly life_us: number
  readonly heap_bytes_per_request: number
  /** The cost of reading a quote while all these requests are stored, in microseconds. */
  readonly quote_us: number
}

let lived = 0
let last = ""

const start = Effect.suspend(() =>
  Effect.map(
    Service.call(Service.startQuoteRequest, key, {
      ...starts.household(`life-${++lived}`),
      scenario: "quotes_ready"
    }),
    (json) => {
      last = Json.decode(json).id
    }
  )
)

const lives = (atOnce: number) =>
  Effect.gen(function* () {
    for (let i = 0; i < atOnce; i++) yield* start
    yield* Service.call(Service.advanceTime, key, { seconds: 60 })
  })

const lastQuotes = Effect.suspend(() =>
  Effect.map(Service.call(Service.getQuoteRequest, key, { id: last, wait_seconds: 0 }), (json) => {
    const { quote_request, quotes } = Json.decode(json)
    if (quote_request.status !== "completed") throw new Error(`A request has ended ${quote_request.status}`)
    return quotes.map(({ id }) => id)
  })
)

await time(10, () => lives(20))
const emptyBytes = heapBytes()
const livedBefore = lived

Child.answer(async ({ requests, at_once }: Lives): Promise<Lived> => {
  const rounds = 10
  const each: Array<number> = []
  for (let i = 0; i < rounds; i++) {
    const groups = Math.max(1, Math.round(requests / at_once / rounds))
    each.push((await time(groups, () => lives(at_once))) / at_once)
  }
  const quotes = await run(lastQuotes)
  const heap_bytes_per_request = (heapBytes() - emptyBytes) / (lived - livedBefore)
  const readQuote = () => Service.call(Service.getQuote, key, { id: quotes[0] ?? "" })
  const quote_us = await repeated(5, () => time(20_000, readQuote))
  return {
    requests: lived,
    at_once,
    quotes_each: quotes.length,
    life_us: median(each),
    heap_bytes_per_request,
    quote_us
  }
})
