import { createHmac } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { setTimeout as timer } from "node:timers/promises"
import { type Answer, type Asked, applicationsApi, jsonApi, xmlApi, xmlPollsApi } from "./apis.ts"
import { makeWeather, type Weather, weathers } from "./weather.ts"

/*
 * A practice carrier: one server with four APIs. It behaves as real carriers do, including on bad days.
 *
 * Start it with `npx node examples/carriers/server.ts`. Its "weather" is how it behaves:
 * `curl -X PUT localhost:8799/weather/burst` makes it answer the next requests with 503.
 */

/** Options of the practice carrier. */
export interface PracticeOptions {
  /** The secret with which callbacks are signed. */
  readonly callback_secret: string
  /** The port; any free port by default. */
  readonly port?: number
  /** Waits this many milliseconds, or until the caller disconnects. Uses a timer by default. */
  readonly wait?: (millis: number, callerIsGone?: AbortSignal) => Promise<unknown>
  /** Sends callbacks; `fetch` by default. */
  readonly send?: typeof fetch
}

/** A running practice carrier. */
export interface PracticeCarrier {
  readonly url: string
  /** Changes the weather for all later requests. */
  readonly turn: (weather: Weather) => void
  /** Sets the URL for callbacks. Before that, no callbacks are sent. */
  readonly callBackTo: (url: string) => void
  /**
   * The requests that the carrier received and the answers to its callbacks, in order, such as `POST /json/quotes 201`
   * and `callback 204`.
   */
  readonly log: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

const byTimer: NonNullable<PracticeOptions["wait"]> = (millis, signal) =>
  timer(millis, undefined, { ref: false, ...(signal !== undefined && { signal }) })

const max_body_bytes = 64 * 1_024
/** The maximum number of entries in the log. */
const max_log = 1_000
const callback_after_ms = 500
/** The maximum number of times that a callback is sent until it is accepted. */
const callback_tries = 10
const callback_pause_ms = 5_000

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

const max_tokens = 1_000

/** Issues tokens for any client credentials, and counts how many more times each token may be used. */
const makeTokens = () => {
  const uses = new Map<string, number>()
  let count = 0
  return {
    grant: ({ body, headers }: Asked, uses_left: number): Answer => {
      const isRight = body.includes("grant_type=client_credentials") && headers.authorization?.startsWith("Basic ")
      if (isRight !== true || uses.size >= max_tokens) return { status: 401, body: { error: "invalid_client" } }
      count += 1
      const access_token = `token-${count}`
      uses.set(access_token, uses_left)
      return { status: 200, body: { access_token, token_type: "Bearer", expires_in: 3_600 } }
    },
    use: ({ headers: { authorization = "" } }: Asked): boolean => {
      const token = authorization.replace(/^Bearer /, "")
      const left = uses.get(token)
      if (left === undefined) return false
      if (left > 1) uses.set(token, left - 1)
      else uses.delete(token)
      return true
    }
  }
}

const isWeather = (name: string): name is Weather => Object.hasOwn(weathers, name)

/** Sends an answer. If `isTwice` is set, sends its bytes twice. */
const send = (response: ServerResponse, { status, body, headers }: Answer, isTwice: boolean) => {
  const isRaw = typeof body === "string" || body instanceof Uint8Array
  const bytes = Buffer.from(isRaw ? body : body === undefined ? "" : JSON.stringify(body))
  const all = { "content-type": "application/json", ...headers, "content-length": String(bytes.length) }
  response.socket?.cork()
  response.writeHead(status, all).end(bytes)
  if (isTwice) {
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    response.socket?.write(`HTTP/1.1 ${status} Again\r\n${lines.join("")}\r\n${bytes}`)
  }
  response.socket?.uncork()
}

/** Creates the function that signs a callback and sends it until it is accepted. */
const makeCallbacks = (
  { callback_secret, wait = byTimer, send = fetch }: PracticeOptions,
  note: (line: string) => void
) => {
  let url: string | null = null
  const post = async (body: string): Promise<number> => {
    if (url === null) return 0
    const signature = createHmac("sha256", callback_secret).update(body).digest("hex")
    const headers = { "content-type": "application/json", "x-signature": `sha256=${signature}` }
    const status = await send(url, { method: "POST", body, headers }).then(
      (response) => response.status,
      () => 0
    )
    note(`callback ${status}`)
    return status
  }
  return {
    sendTo: (to: string | null) => {
      url = to
    },
    send: async (decision: unknown, after_ms: number, times: number) => {
      await wait(after_ms)
      const body = JSON.stringify(decision)
      for (let time = 0; time < times; time++) {
        for (let nth = 1; nth <= callback_tries && url !== null; nth++) {
          const status = await post(body)
          if (status > 0 && status < 500) break
          await wait(callback_pause_ms)
        }
      }
    }
  }
}

/** Starts the practice carrier. */
export const startCarrier = async (options: PracticeOptions): Promise<PracticeCarrier> => {
  const { port = 0, wait = byTimer } = options
  const log: Array<string> = []
  const note = (line: string) => {
    log.push(line)
    if (log.length > max_log) log.shift()
  }
  const weather = makeWeather()
  const tokens = makeTokens()
  const callbacks = makeCallbacks(options, note)
  const json = jsonApi(() => weather.is("late"))
  const xml = xmlApi()
  const xmlPolls = xmlPollsApi(() => weather.is("late"))
  const applications = applicationsApi()

  const turnTo = (name: string): Answer => {
    if (!isWeather(name)) return { status: 404, body: { weathers } }
    weather.turn(name)
    return { status: 200, body: { weather: name } }
  }

  const answerTo = async (asked: Asked, callerIsGone: AbortSignal): Promise<Answer> => {
    const { method, path } = asked
    if (method === "PUT" && path.startsWith("/weather/")) return turnTo(path.slice("/weather/".length))
    if (path === "/token") return tokens.grant(asked, weather.is("token_ends") ? 1 : Number.POSITIVE_INFINITY)
    if (!tokens.use(asked)) return { status: 401, body: { error: "invalid_token" } }
    const spoiled = weather.spoiledAnswer(asked)
    if (spoiled !== null) return spoiled
    if (weather.is("slow") || (weather.is("late") && path === "/xml")) await wait(weather.answerMs(), callerIsGone)
    if (path.startsWith("/json/")) return json(asked)
    if (path === "/xml") return xml(asked)
    if (path.startsWith("/foolscap")) return xmlPolls(asked)
    return path === "/applications" ? applications(asked) : { status: 404 }
  }

  const server = createServer(async (request, response) => {
    const { method = "GET", url: path = "/", headers } = request
    const caller = new AbortController()
    response.on("close", () => caller.abort())
    const answer = await read(request)
      .then((body) => answerTo({ method, path, headers, body }, caller.signal))
      .catch((): Answer => ({ status: caller.signal.aborted ? 499 : 400 }))
    note(`${method} ${path} ${answer.status}`)
    const isTwice = weather.is("twice") && path !== "/token" && !path.startsWith("/weather/")
    send(response, answer, isTwice)
    if (answer.later !== undefined) {
      void callbacks.send(answer.later, callback_after_ms + weather.answerMs(), isTwice ? 2 : 1)
    }
  })
  await new Promise<void>((listening) => server.listen(port, "localhost", listening))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The server has no port.")

  return {
    url: `http://localhost:${address.port}`,
    turn: weather.turn,
    callBackTo: callbacks.sendTo,
    log,
    close: async () => {
      callbacks.sendTo(null)
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
}

if (import.meta.main) {
  // The URL at which `quotewire dev` accepts the callbacks of callbacks.ts.
  const callback_url = process.argv[2] ?? "http://127.0.0.1:8787/carriers/naic:10003/callbacks"
  const carrier = await startCarrier({ port: 8_799, callback_secret: "practice" })
  carrier.callBackTo(callback_url)
  console.log(`The carrier listens at ${carrier.url}, and calls back to ${callback_url}. Its weathers:`)
  for (const [name, meaning] of Object.entries(weathers)) {
    console.log(`  curl -X PUT ${carrier.url}/weather/${name}`.padEnd(60), meaning)
  }
}
