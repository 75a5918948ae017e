import { createServer, type IncomingMessage } from "node:http"
import { performance } from "node:perf_hooks"
import { text } from "node:stream/consumers"
import { setTimeout as timer } from "node:timers/promises"

/*
 * The carriers' side of `ownCarriers.ts`: a server that keeps a ledger of asks and offers.
 */

/** What happened between the service and a carrier, from the carrier's point of view. */
export interface Entry {
  readonly carrier: string
  /** The ZIP code of the request, by which a test recognizes it. */
  readonly zip: string
  readonly what: "asked" | "offered" | "declined" | "throttled" | "failed"
  /** The price of an offer, in cents; no two offers have the same price. */
  readonly cents?: number
  /** When it happened, in milliseconds of a monotonic clock. */
  readonly at: number
}

/** What an endpoint knows about an ask. */
interface Asked {
  readonly zip: string
  /** How many times this carrier has been asked for this request, including this ask. */
  readonly nth: number
}

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly what?: Entry["what"]
  readonly cents?: number
}

/** The throttled carrier's `Retry-After`, in seconds. */
export const retryAfterSeconds = 1

/** How many times a callback that is not accepted is sent, and the pause between attempts. */
const callbackTries = 100
const callbackPauseMs = 50

/** Starts the server. */
export const startLedger = async () => {
  const ledger: Array<Entry> = []
  const counts = new Map<string, number>()
  let lastCents = 10_000
  let urlFor = (_carrierId: string): string => ""
  const stopping = new AbortController()

  const note = (carrier: string, zip: string, what: Entry["what"], cents?: number) =>
    void ledger.push({ carrier, zip, what, at: performance.now(), ...(cents !== undefined && { cents }) })
  const count = (name: string): number => {
    const nth = (counts.get(name) ?? 0) + 1
    counts.set(name, nth)
    return nth
  }
  const price = (): number => ++lastCents
  const offer = (): Answer => {
    const cents = price()
    return { body: { number: `N-${cents}`, cents }, what: "offered", cents }
  }

  /** Calls back until the callback is accepted. */
  const callBack = async (zip: string, number: string, cents: number) => {
    await timer(40, undefined, { signal: stopping.signal })
    note("calls_back", zip, "offered", cents)
    for (let nth = 1; nth <= callbackTries; nth++) {
      const sent = fetch(urlFor(idOf("calls_back")), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ number, cents }),
        signal: stopping.signal
      })
      if (await sent.then((response) => response.ok).catch(() => false)) return
      await timer(callbackPauseMs, undefined, { signal: stopping.signal })
    }
  }

  /** What each carrier answers to an ask. */
  const answers: { readonly [carrier: string]: (asked: Asked) => Answer | Promise<Answer> } = {
    prompt: offer,
    slow: () => timer(400).then(offer),
    paid_report: () => timer(150).then(offer),
    opens: ({ zip }) => ({ body: { number: zip } }),
    rates: offer,
    polled: ({ zip }) => ({ status: 202, body: { number: zip } }),
    calls_back: ({ zip }) => {
      const cents = price()
      const number = `C-${cents}`
      callBack(zip, number, cents).catch(() => {})
      return { status: 202, body: { number } }
    },
    throttled: ({ nth }) =>
      nth === 1 ? { status: 429, headers: { "retry-after": String(retryAfterSeconds) }, what: "throttled" } : offer(),
    fails_once: ({ nth }) => (nth === 1 ? { status: 503, what: "failed" } : offer()),
    declines: () => ({ body: {}, what: "declined" }),
    xml: () => {
      const { cents = 0 } = offer()
      const amount = (cents / 100).toFixed(2)
      return {
        headers: { "content-type": "application/xml" },
        body: `<Quote><Number>X-${cents}</Number><Premium>${amount}</Premium></Quote>`,
        what: "offered",
        cents
      }
    }
  }

  /** A path contains the carrier and the action: `/prompt/ask/10001`. */
  const answer = async (
    request: IncomingMessage
  ): Promise<Answer & { readonly carrier: string; readonly zip: string }> => {
    await text(request)
    const [, carrier = "", wanted = "", zip = "", given = ""] = (request.url ?? "").split("/")
    const of = { carrier, zip }
    if (wanted === "note") return { ...of, what: "offered", cents: Number(given) }
    if (wanted === "wait") return new Promise(() => {})
    if (wanted === "ask") note(carrier, zip, "asked")
    if (wanted === "poll") return { ...of, ...offer() }
    const name = wanted === "rate" ? "rates" : carrier === "two_steps" ? "opens" : carrier
    const answered = await answers[name]?.({ zip, nth: count(`${name} ${zip}`) })
    return { ...of, ...(answered ?? { status: 204 }) }
  }

  const server = createServer(async (request, response) => {
    const { body, cents, carrier, headers, status = 200, what, zip } = await answer(request)
    if (response.destroyed) return
    if (what !== undefined) note(carrier, zip, what, cents)
    const isText = typeof body === "string"
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(isText ? body : body === undefined ? "" : JSON.stringify(body))
  })
  await new Promise<void>((listening) => server.listen(0, "localhost", listening))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The server has no port.")

  return {
    url: `http://localhost:${address.port}`,
    ledger,
    /** Sets where the host accepts the callbacks of a carrier. */
    callBackTo: (at: typeof urlFor) => {
      urlFor = at
    },
    close: async () => {
      stopping.abort()
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
}

export type CarrierLedger = Awaited<ReturnType<typeof startLedger>>

/** The names of the carriers in the ledger. */
export const names = [
  "function",
  "prompt",
  "slow",
  "paid_report",
  "two_steps",
  "polled",
  "calls_back",
  "throttled",
  "fails_once",
  "silent",
  "declines",
  "xml"
] as const
export type Name = (typeof names)[number]

/** The id of a carrier. */
export const idOf = (name: Name): string => `mga:${name.replaceAll("_", "-")}`
