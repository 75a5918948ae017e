import { gzipSync } from "node:zlib"
import type { Answer, Asked } from "./apis.ts"

/**
 * The ways in which the carrier can behave. Bad weather spoils the answers of its APIs, but not of its token endpoint.
 */
export const weathers = {
  fair: "Answers at once.",
  token_ends: "A token is good for one request. Then 401.",
  busy: "The next request is answered 429 with Retry-After.",
  burst: "The next three requests are answered 503.",
  maintenance: "503 with a Retry-After of an hour.",
  slow: "Each answer takes three seconds.",
  late: "No price for ten minutes.",
  garbage: "200 with a page of HTML.",
  changed: "200 with other JSON than yesterday.",
  huge: "200 with ten megabytes.",
  bomb: "200 with ten kilobytes of gzip, which are ten megabytes.",
  redirect: "302 to another address on this machine.",
  twice: "Each answer and each callback is sent twice."
} as const

export type Weather = keyof typeof weathers

const retry_after_seconds = 2
const huge_bytes = 10_000_000
const slow_ms = 3_000
const late_ms = 600_000

/** Creates the weather of a carrier. At first it is fair. */
export const makeWeather = () => {
  let weather: Weather = "fair"
  /** How many of the next requests get a spoiled answer. */
  let spoiled = 0

  const turn = (next: Weather) => {
    weather = next
    spoiled = next === "busy" ? 1 : next === "burst" ? 3 : 0
  }

  const spoilNext = (answer: Answer): Answer | null => {
    if (spoiled === 0) return null
    spoiled -= 1
    return answer
  }

  /** The spoiled answer to a request; null if the API answers as usual. */
  const spoiledAnswer = ({ headers }: Asked): Answer | null => {
    switch (weather) {
      case "busy":
        return spoilNext({ status: 429, headers: { "retry-after": `${retry_after_seconds}` } })
      case "burst":
        return spoilNext({ status: 503 })
      case "maintenance":
        return { status: 503, headers: { "retry-after": "3600" } }
      case "garbage":
        return { status: 200, headers: { "content-type": "text/html" }, body: "<html><p>Please log in</html>" }
      case "changed":
        return { status: 200, body: { quote: { number: 17, state: "OPEN" } } }
      case "huge":
        return { status: 200, body: Buffer.alloc(huge_bytes, " ") }
      case "bomb":
        return { status: 200, headers: { "content-encoding": "gzip" }, body: gzipSync(Buffer.alloc(huge_bytes, " ")) }
      case "redirect":
        return { status: 302, headers: { location: `http://${headers.host}/private` } }
      default:
        return null
    }
  }

  return {
    turn,
    is: (...some: ReadonlyArray<Weather>) => some.includes(weather),
    spoiledAnswer,
    /** How long an answer takes, in milliseconds. */
    answerMs: () => (weather === "slow" ? slow_ms : weather === "late" ? late_ms : 0)
  }
}
