import type { IncomingHttpHeaders } from "node:http"
import { Schema } from "effect"

/*
 * The four APIs of the practice carrier. Each API recognizes a repeated request by the caller's key and assigns quote
 * numbers of its own.
 */

/** A request to one of the APIs. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** An answer. A body that is neither a string nor bytes is sent as JSON. */
export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** What a callback reports later. */
  readonly later?: unknown
}

/** The maximum number of quotes that an API stores. */
const max_kept = 10_000

/**
 * Creates the function that assigns a quote number to a caller's key. A repeated key gets the same number. Null if the
 * API is full.
 */
const makeNumbers = (prefix: string) => {
  const numbers = new Map<string, string>()
  return (key: string): { readonly number: string; readonly isNew: boolean } | null => {
    const known = numbers.get(key)
    if (known !== undefined) return { number: known, isNew: false }
    if (numbers.size >= max_kept) return null
    const number = `${prefix}-${numbers.size + 1}`
    numbers.set(key, number)
    return { number, isNew: true }
  }
}

const noRoom: Answer = { status: 507, body: { error: "too_many_quotes" } }

const Risk = Schema.Struct({ contents: Schema.Finite, bitten: Schema.optionalKey(Schema.Boolean) })
const readQuote = Schema.decodeSync(Schema.fromJsonString(Schema.Struct({ risk: Risk })))

/**
 * A JSON API with two steps. `POST /json/quotes` opens a quote, and `POST /json/quotes/{number}/rate` starts rating it.
 * `GET /json/quotes/{number}` returns the quote, which is eventually `rated` or `declined`.
 */
export const jsonApi = (isLate: () => boolean) => {
  const numberOf = makeNumbers("Q")
  const quotes = new Map<string, typeof Risk.Type>()
  return ({ method, path, headers, body }: Asked): Answer => {
    if (method === "POST" && path === "/json/quotes") {
      const { risk } = readQuote(body)
      const numbered = numberOf(String(headers["idempotency-key"]))
      if (numbered === null) return noRoom
      if (numbered.isNew) quotes.set(numbered.number, risk)
      return { status: 201, body: { quote_number: numbered.number, status: "open" } }
    }
    const [, quote_number = "", step] = /^\/json\/quotes\/([\w-]+)(\/rate)?$/.exec(path) ?? []
    const risk = quotes.get(quote_number)
    if (risk === undefined) return { status: 404 }
    if (step !== undefined || isLate()) return { status: 200, body: { quote_number, status: "rating" } }
    if (risk.bitten === true) return { status: 200, body: { quote_number, status: "declined", code: "D17" } }
    const annual_premium = (150 + risk.contents / 1_000).toFixed(2)
    return { status: 200, body: { quote_number, status: "rated", annual_premium } }
  }
}

const textOf = (body: string, tag: string): string => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(body)?.[1] ?? ""

/** An XML API with one step, modeled on ACORD messages: `POST /xml` with a `RentersPolicyQuoteInqRq`. */
export const xmlApi = () => {
  const numberOf = makeNumbers("XQ")
  return ({ method, body }: Asked): Answer => {
    if (method !== "POST" || !body.includes("<RentersPolicyQuoteInqRq>")) return { status: 400 }
    const key = textOf(body, "RqUID")
    const numbered = numberOf(key)
    if (numbered === null) return noRoom
    const claims = Number(textOf(body, "NumLosses"))
    const amount = (160 + Number(textOf(body, "FormatInteger")) / 1_000 + claims * 12.5).toFixed(2)
    const said =
      claims > 2
        ? "<MsgStatus><MsgStatusCd>Rejected</MsgStatusCd><MsgErrorCd>LOSSES</MsgErrorCd></MsgStatus>"
        : `<MsgStatus><MsgStatusCd>Success</MsgStatusCd></MsgStatus>
      <PolicySummaryInfo><QuoteNumber>${numbered.number}</QuoteNumber><FullTermAmt><Amt>${amount}</Amt></FullTermAmt></PolicySummaryInfo>`
    return {
      status: 200,
      headers: { "content-type": "application/xml; charset=utf-8" },
      body: `<?xml version="1.0" encoding="UTF-8"?>
<ACORD>
  <InsuranceSvcRs>
    <RentersPolicyQuoteInqRs>
      <RqUID>${key}</RqUID>
      ${said}
    </RentersPolicyQuoteInqRs>
  </InsuranceSvcRs>
</ACORD>`
    }
  }
}

/**
 * An XML API that quotes later: `POST /foolscap` opens a quote, and the second `GET /foolscap/{number}` finds it
 * rated.
 */
export const xmlPollsApi = (isLate: () => boolean) => {
  const numberOf = makeNumbers("F")
  const quotes = new Map<string, { readonly claims: number; readonly contents: number; reads: number }>()
  const answer = (number: string, inside: string): Answer => ({
    status: 200,
    headers: { "content-type": "text/xml" },
    body: `<?xml version="1.0"?><f:Quote xmlns:f="urn:foolscap" number="${number}">${inside}</f:Quote>`
  })
  return ({ method, path, body }: Asked): Answer => {
    if (method === "POST" && path === "/foolscap") {
      const numbered = numberOf(textOf(body, "Key"))
      if (numbered === null) return noRoom
      const risk = { claims: Number(textOf(body, "Claims")), contents: Number(textOf(body, "Contents")), reads: 0 }
      if (numbered.isNew) quotes.set(numbered.number, risk)
      return answer(numbered.number, "<Status>Open</Status>")
    }
    const [, number = ""] = /^\/foolscap\/([\w-]+)$/.exec(path) ?? []
    const quote = quotes.get(number)
    if (quote === undefined) return { status: 404 }
    quote.reads += 1
    if (quote.reads < 2 || isLate()) return answer(number, "<Status>Rating</Status>")
    if (quote.claims > 2) return answer(number, "<Status>Declined</Status><Reason>LOSSES</Reason>")
    const premium = (1_151.1 + quote.contents / 1_000).toFixed(2)
    return answer(number, `<Status>Rated</Status><Premium>${premium.replace(/^(\d)(\d{3})/, "$1,$2")}</Premium>`)
  }
}

const Application = Schema.Struct({
  key: Schema.String,
  contents_usd: Schema.Finite,
  lets_to_guests: Schema.optionalKey(Schema.Boolean)
})
const readApplication = Schema.decodeSync(Schema.fromJsonString(Application))

/**
 * A JSON API that decides later: `POST /applications` returns an application number, and a callback with that number
 * reports the decision.
 */
export const applicationsApi = () => {
  const numberOf = makeNumbers("APP")
  return ({ method, body }: Asked): Answer => {
    if (method !== "POST") return { status: 405 }
    const { key, contents_usd, lets_to_guests } = readApplication(body)
    const numbered = numberOf(key)
    if (numbered === null) return noRoom
    const application_number = numbered.number
    const decision =
      lets_to_guests === true
        ? { application_number, decision: "refused" }
        : { application_number, decision: "accepted", annual_premium_cents: 14_500 + Math.round(contents_usd / 10) }
    return { status: 202, body: { application_number }, ...(numbered.isNew && { later: decision }) }
  }
}
