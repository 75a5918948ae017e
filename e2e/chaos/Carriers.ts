import { createServer } from "node:http"
import { buffer } from "node:stream/consumers"
import { after } from "./Hosts.ts"

/*
 * The counterpart of `carriers.config.ts`: a server that records what each carrier was asked and what it offered.
 */

/**
 * How the carriers answer. `once` must never be asked twice, and answers slowly, so that faults strike in the meantime.
 */
export const modes = ["instant", "polled", "calls-back", "once"] as const
export type Mode = (typeof modes)[number]

/** The id of a carrier. */
export const idOf = (mode: Mode): string => `mga:${mode}`

const modeOf = (id: string): Mode | undefined => modes.find((mode) => idOf(mode) === id)

/** How many times a callback that no host accepts is retried, and the pause between retries in milliseconds. */
const callbackTries = 200
const callbackPauseMs = 300
const onceTakesMs = 300

/** The price of a quote of one of these carriers, as a caller reads it. */
export interface ReadQuote {
  readonly carrier_id: string
  readonly cents: number | null
}

/** Opens the carriers. */
export const open = async () => {
  /** How many times each carrier was asked for each person. */
  const asks = new Map<string, number>()
  const offered = new Map<number, Mode>()
  let lastCents = 10_000
  let baseUrls: ReadonlyArray<string> = []
  let isClosed = false

  const offer = (mode: Mode) => {
    offered.set(++lastCents, mode)
    return { number: `N-${lastCents}`, cents: lastCents }
  }
  const callBack = async (answer: object) => {
    for (let nth = 0; nth < callbackTries && !isClosed; nth++) {
      const url = `${baseUrls[nth % baseUrls.length]}/carriers/${encodeURIComponent(idOf("calls-back"))}/callbacks`
      const sent = fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(answer),
        signal: AbortSignal.timeout(5_000)
      })
      if (await sent.then(({ status }) => status < 500).catch(() => false)) return
      await after(callbackPauseMs)
    }
  }
  const answerOf = async (mode: Mode, wanted: string): Promise<object> => {
    if (wanted === "poll") return offer(mode)
    if (mode === "polled") return { number: `P-${asks.size}` }
    if (mode === "once") await after(onceTakesMs)
    const answer = offer(mode)
    if (mode !== "calls-back") return answer
    void callBack(answer)
    return { number: answer.number }
  }

  /** A path contains the carrier, the action and the person of the request: `/once/ask/b%20cd`. */
  const server = createServer(async (request, response) => {
    await buffer(request).catch(() => undefined)
    const [, name = "", wanted = "", person = ""] = (request.url ?? "").split("/")
    const mode = modeOf(`mga:${name}`)
    if (mode === undefined) return void response.writeHead(404).end()
    if (wanted === "ask") asks.set(`${mode} ${person}`, (asks.get(`${mode} ${person}`) ?? 0) + 1)
    const body = JSON.stringify(await answerOf(mode, wanted))
    response.writeHead(200, { "content-type": "application/json" }).end(body)
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0

  return {
    url: `http://127.0.0.1:${port}`,
    /** Sets the hosts that accept callbacks. */
    callBackTo: (hosts: ReadonlyArray<string>) => {
      baseUrls = hosts
    },
    /** What is wrong with the asks and the resulting quotes. */
    findings: (quotes: ReadonlyArray<ReadonlyArray<ReadQuote>>): ReadonlyArray<string> => [
      ...[...asks].flatMap(([ask, times]) =>
        ask.startsWith("once ") && times > 1
          ? [`The carrier that must not be asked twice was asked ${times} times`]
          : []
      ),
      ...quotes.flatMap((ofRequest) => ofQuotes(ofRequest, offered)),
      ...modes
        .filter((mode) => !quotes.flat().some(({ carrier_id }) => carrier_id === idOf(mode)))
        .map((mode) => `There is no quote of the carrier ${mode}`)
    ],
    close: () => {
      isClosed = true
      server.closeAllConnections()
      server.close()
    }
  }
}

const ofQuotes = (quotes: ReadonlyArray<ReadQuote>, offered: ReadonlyMap<number, Mode>): ReadonlyArray<string> =>
  modes.flatMap((mode) => {
    const own = quotes.filter(({ carrier_id }) => carrier_id === idOf(mode))
    return [
      ...(own.length > 1 ? [`One request has ${own.length} quotes of ${mode}`] : []),
      ...own.flatMap(({ cents }) =>
        cents !== null && offered.get(cents) === mode ? [] : [`A quote of ${mode} has a price that it did not offer`]
      )
    ]
  })

/** Carriers that are open. */
export type OpenCarriers = Awaited<ReturnType<typeof open>>
