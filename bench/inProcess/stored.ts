import { Effect } from "effect"
import * as Child from "../Child.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import { heapBytes, key, repeated, run, time } from "./world.ts"

/** How many requests to store before measuring, and how many times to repeat each measurement. */
export interface Level {
  readonly requests: number
  readonly repeats: number
}

/** The cost of single steps while this many requests are stored, in microseconds of CPU time. */
export interface AtLevel {
  readonly requests: number
  readonly start_us: number
  readonly quote_us: number
  readonly feed_page_us: number
  readonly heap_bytes_per_request: number
}

// How many requests are stored. They are as cheap as real requests can be: each has the smallest application and is
// never processed.
let stored = 0
const start = () => Service.call(Service.startQuoteRequest, key, starts.smallest(`request-${++stored}`))

const [quote] = await run(Service.makeQuotes(key, starts.smallest(`request-${++stored}`)))
const emptyBytes = heapBytes()

const readQuote = () => Service.call(Service.getQuote, key, { id: quote?.id ?? "" })

/** Where the next read continues. After the last page, reading starts over. */
let cursor: string | null = null
const readPage = () =>
  Effect.map(Service.call(Service.listEvents, key, { limit: 100, ...(cursor !== null && { cursor }) }), ({ text }) => {
    cursor = text.startsWith('{"events":[]') ? null : (/"next_cursor":"([^"]+)"\}$/.exec(text)?.[1] ?? null)
  })

Child.answer(async ({ requests, repeats }: Level): Promise<AtLevel> => {
  await time(requests - stored, start)
  const heap_bytes_per_request = (heapBytes() - emptyBytes) / stored
  cursor = null
  await time(stored / 200, readPage)
  const quote_us = await repeated(repeats, () => time(20_000, readQuote))
  const feed_page_us = await repeated(repeats, () => time(500, readPage))
  const start_us = await repeated(repeats, () => time(Math.min(2_000, requests / 10), start))
  return { requests, start_us, quote_us, feed_page_us, heap_bytes_per_request }
})
