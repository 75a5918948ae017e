import { setTimeout as timer } from "node:timers/promises"
import type { Answer } from "./Call.ts"
import { type CarrierLedger, type Entry, idOf, type Name, names, retryAfterSeconds } from "./carrierLedger.ts"

/** Calls an operation of one organization's sandbox. */
export type Do = (operation: string, input: object, idempotency_key?: string) => Promise<Answer>

/** What happens in one organization's sandbox, in order. Afterwards the clock is advanced by an hour. */
export interface Story {
  readonly name: string
  readonly steps: ReadonlyArray<Step>
}
type Step =
  | { readonly do: "start" }
  /** Real time passes, in milliseconds. */
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "advance"; readonly seconds: number }
  /** Several callers do something at the same time. */
  | { readonly do: "together"; readonly steps: ReadonlyArray<Step> }

const start: Step = { do: "start" }
const wait = (ms: number): Step => ({ do: "wait", ms })
const advance = (seconds: number): Step => ({ do: "advance", seconds })
const together = (...steps: ReadonlyArray<Step>): Step => ({ do: "together", steps })
const hour = advance(3_600)

/** The stories that every host goes through, plus additional ones with clock steps of the given seconds. */
export const stories = (drawn: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<Story> => [
  { name: "steps of a second", steps: [start, ...Array<Step>(8).fill(advance(1))] },
  { name: "steps of seven seconds", steps: [start, start, ...Array<Step>(5).fill(advance(7))] },
  { name: "steps of a minute", steps: [start, ...Array<Step>(3).fill(advance(60))] },
  { name: "a leap right behind the start", steps: [start, hour] },
  { name: "a leap right behind the start of several", steps: [together(start, start, start), hour] },
  { name: "a leap while carriers are asked", steps: [start, advance(1), wait(100), hour] },
  { name: "a leap while a carrier wants to be left alone", steps: [start, advance(1), wait(800), hour] },
  { name: "two callers at once", steps: [start, together(hour, advance(60))] },
  { name: "two callers at once, a little later", steps: [start, wait(1_200), together(advance(7), advance(60), hour)] },
  { name: "a start call during an advance", steps: [start, together(hour, start, advance(60))] },
  ...drawn.map((seconds) => ({ name: `steps of ${seconds} s`, steps: [start, start, ...seconds.map(advance)] }))
]

/** The outcome of a story. */
export interface Told {
  readonly offers_made: number
  readonly quotes: number
  /** The violations, one sentence each. */
  readonly faults: ReadonlyArray<string>
}

const application = (zip: string) => ({ dwelling: { address: { state: "NY", zip }, type: "apartment" } })

const isWait = ({ status, body }: Answer): boolean => status === 409 && body.error.retry_action.type === "wait"

/** Advances the clock, and repeats the call for as long as the response says to wait. */
const advanceTo = async (call: Do, seconds: number, idempotencyKey: string) => {
  while (true) {
    const answer = await call("advance_time", { seconds }, idempotencyKey)
    if (answer.status === 200) return
    if (!isWait(answer)) throw new Error(`An advance was refused: ${JSON.stringify(answer)}`)
  }
}

/** Plays a story and compares the carriers' ledger with the quotes. `nextZip` gives each request a unique ZIP code. */
export const tell = async (
  { name, steps }: Story,
  call: Do,
  nextZip: () => string,
  carriers: CarrierLedger
): Promise<Told> => {
  const requests = new Map<string, string>()
  let calls = 0
  const take = async (step: Step): Promise<void> => {
    const key = `step-${++calls}`
    if (step.do === "wait") await timer(step.ms)
    else if (step.do === "advance") await advanceTo(call, step.seconds, key)
    else if (step.do === "together") await Promise.all(step.steps.map(take))
    else {
      const zip = nextZip()
      const receipt = { line: "renters", request_key: key, consent_receipt_id: "receipt-0001" }
      const started = await call("start_quote_request", { ...receipt, application: application(zip) })
      if (started.status !== 202) throw new Error(`A start call was refused: ${JSON.stringify(started)}`)
      requests.set(zip, started.body.id)
    }
  }
  for (const step of steps) await take(step)
  await take(hour)

  let [offers_made, quotes] = [0, 0]
  const faults: Array<string> = []
  for (const [zip, id] of requests) {
    const { body } = await call("get_quote_request", { id, wait_seconds: 0 })
    const entries = carriers.ledger.filter((entry) => entry.zip === zip)
    const found = compare(entries, body)
    offers_made += found.offers_made
    quotes += found.quotes
    faults.push(...found.faults.map((fault) => `${name}: ${fault}`))
  }
  return { offers_made, quotes, faults }
}

/** The compared fields of a request: its carriers' results and prices. */
interface Read {
  readonly quote_request: {
    readonly status: string
    readonly carriers: ReadonlyArray<{
      readonly carrier: { readonly id: string }
      readonly outcome: string
      readonly reason: string | null
      readonly asked_at: string | null
    }>
  }
  readonly quotes: ReadonlyArray<{ readonly price: { readonly premium: { readonly amount_minor: number } | null } }>
}

/** How many times each carrier may be asked for one request, if more than once. */
const asksAtMost: { readonly [N in Name]?: number } = { throttled: 2, fails_once: 2 }

const compare = (entries: ReadonlyArray<Entry>, { quote_request, quotes }: Read): Told => {
  const faults: Array<string> = []
  if (quote_request.status !== "completed") faults.push(`the request is ${quote_request.status}`)
  const prices = new Set(quotes.map(({ price }) => price.premium?.amount_minor))
  const offers = entries.filter(({ what }) => what === "offered")
  const outcomeOf = (name: string): string => {
    const found = quote_request.carriers.find(({ carrier }) =>
      names.some((one) => one === name && carrier.id === idOf(one))
    )
    return [found?.outcome, found?.reason].join(" ").trim()
  }
  for (const { carrier, cents } of offers) {
    if (!prices.has(cents)) faults.push(`the offer of ${carrier} is lost (${outcomeOf(carrier)})`)
  }
  if (quotes.length !== offers.length) faults.push(`${offers.length} offers have become ${quotes.length} quotes`)
  for (const name of names) {
    const result = quote_request.carriers.find(({ carrier }) => carrier.id === idOf(name))
    const asks = entries.filter(({ carrier, what }) => carrier === name && what === "asked")
    if (asks.length > (asksAtMost[name] ?? 1)) faults.push(`${name} was asked ${asks.length} times`)
    if ((result?.asked_at !== null) !== asks.length > 0) {
      faults.push(`${name} was asked ${asks.length} times, and shows asked_at ${result?.asked_at} (${outcomeOf(name)})`)
    }
    if (result?.outcome === "pending") faults.push(`${name} is still pending`)
    faults.push(...hurried(name, entries))
  }
  return { offers_made: offers.length, quotes: quotes.length, faults }
}

/** A tolerance, because timers and clocks with whole milliseconds are compared with each other. */
const toleranceMs = 50

/** Whether a carrier was asked again too early. */
const hurried = (name: Name, entries: ReadonlyArray<Entry>): ReadonlyArray<string> => {
  const throttled = entries.find(({ carrier, what }) => carrier === name && what === "throttled")
  const again = entries.find(
    ({ at, carrier, what }) => carrier === name && what === "asked" && throttled !== undefined && at > throttled.at
  )
  if (throttled === undefined || again === undefined) return []
  const earlyMs = retryAfterSeconds * 1_000 - (again.at - throttled.at)
  return earlyMs > toleranceMs ? [`${name} was asked again ${Math.round(earlyMs)} ms too early`] : []
}
