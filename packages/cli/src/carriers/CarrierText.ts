import type { Carrier, Timeline } from "@quotewire/core"
import { PlainText } from "@quotewire/core/program"

/**
 * Makes control characters and invisible characters visible, such as `\u{1b}`. For text from outside, such as names and
 * carriers' messages.
 */
export const printable = (text: string): string => text.replaceAll(/[^\n\t]+/g, (part) => PlainText.escaped(part))

type Http = Extract<Timeline.Entry, { readonly what: "exchange" }>["details"]["http"][number]

/** Formats an HTTP exchange as lines for people: what was sent, what came back, and the recorded bodies. */
export const http = (exchange: Http): ReadonlyArray<string> => {
  const answer = exchange.direction === "received" ? "received" : answerOf(exchange)
  const bodies = [
    ["> ", exchange.request],
    ["< ", exchange.response]
  ] as const
  return [
    `${exchange.method} ${exchange.host}${exchange.path}  ${answer}`,
    ...bodies.flatMap(([sign, message]) => (message === null ? [] : bodyOf(sign, message)))
  ]
}

/** Formats a response's status and duration, or why there is no response. */
const answerOf = ({ duration_ms, error, status }: Http): string => {
  if (status !== null) return `${status} in ${duration_ms} ms`
  return error === "aborted" ? "aborted before an answer arrived" : `${error} in ${duration_ms} ms`
}

/** Describes why asking the carrier gave no usable answer, based on the last request to the carrier. */
export const noAnswer = (reason: string, exchanged: ReadonlyArray<Http>): string => {
  const last = exchanged.findLast(({ direction }) => direction === "sent")
  if (last === undefined) return `The adapter reports no answer: ${reason}.`
  const { duration_ms, error, status } = last
  if (status !== null) return `The carrier answered ${status} after ${duration_ms} ms: ${reason}.`
  return error === "aborted"
    ? `The request was aborted before the carrier answered: ${reason}.`
    : `The carrier could not be reached (${error}): ${reason}.`
}

/** Formats the type and size of a body, how much of it was recorded, and the body itself if it is shown. */
const bodyOf = (sign: string, { body, bytes, content_type, kept }: Http["request"]): ReadonlyArray<string> => {
  if (kept === "none") return []
  const size = bytes === null ? "size unknown" : `${bytes} bytes`
  const summary = `${sign}${content_type ?? "no type"}, ${size}${kept === "whole" ? "" : keptAs[kept]}`
  const lines = body === null ? [] : `${body}${kept === "cut" ? "…" : ""}`.split(/\r?\n/)
  return [summary, ...lines.map((line) => `${sign}${line}`)]
}

const keptAs = { cut: ", cut", left_out: ", omitted" }

/** Formats a carrier's answer as lines for people. The first line is the kind of answer. */
export const reply = (answer: Carrier.CarrierReply): ReadonlyArray<string> => {
  switch (answer.kind) {
    case "offers":
      return [`${answer.offers.length} ${answer.offers.length === 1 ? "offer" : "offers"}`, ...answer.offers.map(offer)]
    case "declined":
      return [`declined (${answer.reason})`, ...(answer.message === undefined ? [] : [answer.message])]
    case "pending":
      return [`pending as ${answer.ref}: the carrier will call back`]
    case "question":
      return ["a question", ...answer.questions.map(({ label, path }) => `${path}: ${label}`)]
    case "unavailable":
      return [`no answer (${answer.reason})`]
  }
}

const offer = ({ handoff_url, offer_ref, premium, product, term_months }: Carrier.CarrierOffer): string =>
  [
    product ?? "offer",
    premium === null ? "without a price" : `${(premium.amount_minor / 100).toFixed(2)} ${premium.currency}`,
    ...(term_months === null ? [] : [term_months === 1 ? "for a month" : `for ${term_months} months`]),
    offer_ref,
    ...(handoff_url === null ? [] : [handoff_url])
  ].join("  ")
