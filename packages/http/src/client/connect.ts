import {
  type AnyLine,
  type AnyOperation,
  Argument,
  type CallOptions,
  type Client,
  type FieldError,
  makeClient,
  retryPause,
  type StandardLine
} from "@quotewire/core/client"
import { ApiError } from "./ApiError.ts"
import { type Answer, undocumented } from "./answer.ts"
import { attempt } from "./attempt.ts"
import { missingField } from "./missingField.ts"
import { type CallRequest, isHeaderValue, requestOf } from "./request.ts"
import { type ClientRoute, routes } from "./routes.ts"
import { sleep } from "./sleep.ts"
import { overFetch, type Transport } from "./Transport.ts"

/** Options of `connect`. */
export interface ConnectOptions {
  /** The host's address. It may include a path: `https://quotes.example.com/insurance`. */
  readonly base_url: string
  /** The API key. In a web page, use only a widget key. */
  readonly key: string
  /** Sends the requests; by default the platform's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Sends the requests instead of `fetch`. On Node, `undiciTransport()` of `@quotewire/http/undici` is cheaper. */
  readonly transport?: Transport
  /**
   * How many times a failed call is retried if a retry is safe: 4 by default, at most 20. Use 0 to turn retries off.
   */
  readonly max_retries?: number
  /**
   * How long one attempt may take, in milliseconds: 15,000 by default, at most an hour. Some calls may take longer, as
   * the API contract allows: a long-polling read 20 seconds more, a test event 35, a sandbox control 120.
   */
  readonly timeout_ms?: number
  /**
   * Checks each response, for example against your own schema, and returns its first wrong field, or null. A wrong
   * field rejects the call with a `HostError` that names it. By default only the fields that `events` and
   * `wait_for_quotes` read are checked.
   */
  readonly check_answer?: (operation: AnyOperation["name"], answer: unknown) => FieldError | null
}

/**
 * The longest pause that a host may ask for. If a host asks for a longer pause, the call rejects immediately with an
 * error that says how long to wait.
 */
const longestPauseMs = 60_000

/**
 * Creates a client for a remote host. It needs only `fetch`, so it runs in Node, browsers and workers.
 *
 * The client retries a call unless a retry could execute it twice. It retries after refusals whose `retry_action`
 * allows a retry, honoring `Retry-After`, and after lost connections, timeouts and temporary errors from proxies. A
 * call rejects with an `ApiError` if the host refuses it, with a `HostError` if the response does not come from the
 * API, and with the signal's reason if its signal is aborted. Wrong options throw one `InvalidArgument` that names them
 * all.
 *
 * If the host offers insurance lines of its own, pass their type as `OwnLine`: `connect<typeof bicycle>(…)`.
 *
 * @example
 * const client = connect({ base_url: "https://quotes.example.com", key })
 * const { capabilities } = await client.get_capabilities({ line: "renters" })
 */
export const connect = <OwnLine extends AnyLine = StandardLine>(options: ConnectOptions): Client<OwnLine> => {
  const host = checked(options)
  return makeClient<OwnLine>({
    names,
    sleep,
    // This function is async, so that an input that cannot be sent rejects the promise instead of throwing.
    call: async (name, input, callOptions) => {
      const route = routes[name]
      const request = requestOf(route, host, input, callOptions)
      const { response, value } = await callWithRetries(host, route, request, callOptions)
      // A check written in JavaScript may return undefined.
      const mistake = missingField(name, value) ?? host.check_answer(name, value) ?? null
      if (mistake !== null) throw undocumented(response, host.base_url, mistake)
      return value
    }
  })
}

const isName = (name: string): name is AnyOperation["name"] => Object.hasOwn(routes, name)
const names = Object.keys(routes).filter(isName)

/** The checked options, with defaults filled in. */
interface Host extends Required<Omit<ConnectOptions, "fetch">> {
  readonly origin: string
  readonly base_path: string
}

/** Checks all options, because JavaScript programs have no compiler to check them. */
const checked = (options: ConnectOptions): Host => {
  const isObject = typeof options === "object" && options !== null
  const {
    base_url,
    check_answer = () => null,
    fetch: send,
    key,
    max_retries = 4,
    timeout_ms = 15_000,
    transport
  } = isObject ? options : { base_url: "", key: "" }
  const base = baseOf(base_url)
  Argument.check(
    "connect",
    isObject
      ? [
          [
            "base_url",
            base !== null,
            "Must be an absolute http or https URL without user, password, query or fragment."
          ],
          ["key", isHeaderValue(key), "Must be an API key: visible ASCII characters, no blanks."],
          [
            "max_retries",
            Number.isInteger(max_retries) && max_retries >= 0 && max_retries <= 20,
            "Must be a whole number from 0 to 20."
          ],
          Argument.inRange("timeout_ms", timeout_ms, 1, 3_600_000),
          ["fetch", send === undefined || typeof send === "function", "Must be a function."],
          ["transport", transport === undefined || typeof transport === "function", "Must be a function."],
          ["transport", transport === undefined || send === undefined, "Must not be set together with fetch."],
          ["check_answer", typeof check_answer === "function", "Must be a function."]
        ]
      : [["options", false, "Must be an object, such as { base_url, key }."]]
  )
  const { base_path, origin } = base ?? { base_path: "", origin: "" }
  return {
    base_url: `${origin}${base_path}`,
    origin,
    base_path,
    key,
    max_retries,
    timeout_ms,
    check_answer,
    // Browsers refuse to call `fetch` as a method of another object.
    transport: transport ?? overFetch(send ?? ((url, init) => fetch(url, init)))
  }
}

/** The parts of the base URL, without a trailing slash; null if it is not valid. */
const baseOf = (address: unknown): Pick<Host, "origin" | "base_path"> | null => {
  const text = typeof address === "string" || address instanceof URL ? String(address) : ""
  const url = URL.canParse(text) ? new URL(text) : null
  const isBase =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === "" &&
    !/[?#]/.test(text)
  return isBase ? { origin: url.origin, base_path: url.pathname.replace(/\/+$/, "") } : null
}

/** Sends a call until it succeeds, fails permanently, or has no retries left. */
const callWithRetries = async (
  host: Host,
  route: ClientRoute,
  request: CallRequest,
  { signal }: CallOptions
): Promise<Answer> => {
  for (let failures = 0; ; failures++) {
    signal?.throwIfAborted()
    try {
      return await attempt(host, route, request, signal)
    } catch (error) {
      signal?.throwIfAborted()
      const pauseMs = failures < host.max_retries && mayRetry(route, error) ? retryPause(error, failures) : null
      if (pauseMs === null || pauseMs > longestPauseMs) throw error
      // Adds a random part, so that callers that failed together do not retry together.
      await sleep(pauseMs * (1 + Math.random() / 4), signal)
    }
  }
}

/**
 * Whether a failed call may be retried. A host decides on `rate_limited` before it executes a call, so a call that
 * failed with this code can always be retried.
 */
const mayRetry = ({ retry }: ClientRoute, error: unknown): boolean =>
  retry !== "never" || (error instanceof ApiError && error.code === "rate_limited")
