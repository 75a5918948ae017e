import { createHmac } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import { type Answer, type Asked, applicationsApi, jsonApi, xmlApi } from "./apis.ts"

/*
 * A carrier to practise on: one server with three APIs that behaves as real carriers do, also on their bad days.
 *
 * `node examples/carriers/server.ts` serves it on port 8799, and `curl -X PUT localhost:8799/weather/burst` changes its day.
 */

/** What kind of day the carrier has. It changes all API answers, but not those of the token endpoint. */
export const weathers = {
  fair: "Answers at once.",
  token_ends: "A token is good for one request. Then 401.",
  busy: "The next request is answered 429 with Retry-After.",
  burst: "The next three requests are answered 503.",
  maintenance: "503 with a Retry-After of an hour.",
  slow: "Each answer takes `slow_ms`.",
  garbage: "200 with a page of HTML.",
  late: "No price before `release()`: answers, rates and callbacks are held back."
} as const
export type Weather = keyof typeof weathers

/** How long the carrier's people and machines take, in milliseconds, and where callbacks go. */
export interface PracticeOptions {
  readonly port?: number
  /** Signs callbacks. */
  readonly callback_secret: string
  /** How long a slow answer takes; 2,000 by default. */
  readonly slow_ms?: number
  /** How long after an application its callback is sent; 20 by default. */
  readonly callback_after_ms?: number
  /** The `Retry-After` of 429, in seconds; 1 by default. */
  readonly retry_after_seconds?: number
  /** How often a quote of the JSON API must be read until it is rated; 1 by default. 0 rates at once. */
  readonly reads_until_rated?: number
}

/** A carrier that runs. */
export interface PracticeCarrier {
  readonly url: string
  /** Changes the weather for all requests from now on. */
  readonly turn: (weather: Weather) => void
  /** Lets everything go that `late` holds back. Resolves to the statuses that its callbacks were answered with. */
  readonly release: () => Promise<ReadonlyArray<number>>
  /** Where callbacks are sent; until it is set, there are none. */
  readonly callBackTo: (url: string) => void
  /** What the carrier was asked, in order: `POST /json/quotes 201`. */
  readonly log: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

const port_by_default = 8_799
const max_body_bytes = 64 * 1_024
/** A callback is sent again until it is taken, at most this often. */
const callback_tries = 40
const callback_pause_ms = 50
/** How many requests the log holds. */
const max_log = 1_000

const after = (millis: number) => new Promise<void>((done) => setTimeout(done, millis))

const read = async (request: IncomingMessage): Promise<string> => {
  const parts: Array<Buffer> = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > max_body_bytes) throw new Error("The body is too large.")
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

/** Gives out tokens for client credentials, and knows how often each may still be used. */
const makeTokens = () => {
  const uses = new Map<string, number>()
  return {
    grant: (uses_left: number): Answer => {
      const access_token = `token-${uses.size + 1}`
      uses.set(access_token, uses_left)
      return { status: 200, body: { access_token, token_type: "Bearer", expires_in: 3_600 } }
    },
    use: ({ authorization = "" }: IncomingMessage["headers"]): boolean => {
      const token = authorization.replace(/^Bearer /, "")
      const left = uses.get(token) ?? 0
      uses.set(token, left - 1)
      return left > 0
    }
  }
}

/** Starts the carrier. */
export const startCarrier = async (options: PracticeOptions): Promise<PracticeCarrier> => {
  const { slow_ms = 2_000, callback_after_ms = 20, retry_after_seconds = 1, reads_until_rated = 1 } = options
  const log: Array<string> = []
  const tokens = makeTokens()
  let weather: Weather = "fair"
  /** How many requests the bad weather still spoils. */
  let spoiled = 0
  let callback_url: string | null = null
  let held = Promise.withResolvers<void>()
  /** The callbacks that `late` holds back. */
  let late_callbacks: ReadonlyArray<Promise<number>> = []
  const isLate = () => weather === "late"
  const json = jsonApi(reads_until_rated, isLate)
  const xml = xmlApi()
  const applications = applicationsApi()

  const turn = (next: Weather) => {
    weather = next
    spoiled = next === "busy" ? 1 : next === "burst" ? 3 : 0
  }

  const release = async () => {
    turn("fair")
    held.resolve()
    held = Promise.withResolvers()
    const sent = late_callbacks
    late_callbacks = []
    return Promise.all(sent)
  }

  const callBack = async (decision: unknown, until: Promise<void>): Promise<number> => {
    await until
    const body = JSON.stringify(decision)
    const signature = createHmac("sha256", options.callback_secret).update(body).digest("hex")
    const headers = { "content-type": "application/json", "x-signature": `sha256=${signature}` }
    for (let nth = 1; callback_url !== null; nth++) {
      const status = await fetch(callback_url, { method: "POST", body, headers }).then(
        (response) => response.status,
        () => 0
      )
      if ((status > 0 && status < 500) || nth === callback_tries) return status
      await after(callback_pause_ms)
    }
    return 0
  }

  /** The answer of a bad day; null if the request is answered as usual. */
  const spoil = (): Answer | null => {
    if (weather === "maintenance") return { status: 503, headers: { "retry-after": "3600" } }
    if (weather === "garbage") return { status: 200, type: "text/html", body: "<html><p>Please log in</html>" }
    if (spoiled === 0) return null
    spoiled -= 1
    return weather === "busy"
      ? { status: 429, headers: { "retry-after": String(retry_after_seconds) } }
      : { status: 503 }
  }

  const answerTo = async (asked: Asked): Promise<Answer> => {
    const { method, path } = asked
    if (method === "PUT" && path.startsWith("/weather/")) {
      const next = Object.keys(weathers).find((name): name is Weather => name === path.slice("/weather/".length))
      if (next === undefined) return { status: 404, body: { weathers } }
      if (next === "fair") void release()
      turn(next)
      return { status: 200, body: { weather } }
    }
    if (path === "/token") return tokens.grant(weather === "token_ends" ? 1 : Number.POSITIVE_INFINITY)
    if (!tokens.use(asked.headers)) return { status: 401, body: { error: "invalid_token" } }
    const spoilt = spoil()
    if (spoilt !== null) return spoilt
    if (weather === "slow") await after(slow_ms)
    if (path.startsWith("/json/")) return json(asked)
    if (path === "/xml" && isLate()) await held.promise
    if (path === "/xml") return xml(asked)
    return path === "/applications" ? applications(asked) : { status: 404 }
  }

  const server = createServer(async (request, response) => {
    const { method = "GET", url: path = "/", headers } = request
    const answer = await read(request)
      .then((body) => answerTo({ method, path, headers, body }))
      .catch((): Answer => ({ status: 400 }))
    const { status, body, type = "application/json", later } = answer
    log.push(`${method} ${path} ${status}`)
    if (log.length > max_log) log.shift()
    response.writeHead(status, { "content-type": type, ...answer.headers })
    response.end(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body))
    if (later === undefined) return
    const sent = callBack(later, isLate() ? held.promise : after(callback_after_ms))
    if (isLate()) late_callbacks = [...late_callbacks, sent]
  })
  await new Promise<void>((listening) => server.listen(options.port ?? 0, "localhost", listening))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The server has no port.")

  return {
    url: `http://localhost:${address.port}`,
    turn,
    release,
    callBackTo: (url) => {
      callback_url = url
    },
    log,
    close: async () => {
      callback_url = null
      await release()
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
}

if (import.meta.main) {
  const { url } = await startCarrier({ port: port_by_default, callback_secret: "practice" })
  console.log(`The carrier listens at ${url}. Its weathers:`)
  for (const [name, meaning] of Object.entries(weathers)) console.log(`  PUT ${url}/weather/${name}: ${meaning}`)
}
