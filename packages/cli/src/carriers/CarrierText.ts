import type { Carrier, Timeline } from "@quotewire/core"

/** Text of carriers without what could control a terminal. */
export const printable = (text: string): string => text.replaceAll(/[^\P{Cc}\n\t]/gu, " ")

type Http = Extract<Timeline.Entry, { readonly what: "exchange" }>["details"]["http"][number]

/** An HTTP exchange as lines for people: what was sent, what came back, and the recorded bodies. */
export const http = (of: Http): ReadonlyArray<string> => {
  const answer = of.direction === "received" ? "received" : `${of.status ?? of.error} in ${of.duration_ms} ms`
  const bodies = [
    ["> ", of.request],
    ["< ", of.response]
  ] as const
  return [
    `${of.method} ${of.host}${of.path}  ${answer}`,
    ...bodies.flatMap(([sign, message]) =>
      message?.body == null ? [] : [`${sign}${message.body}${message.kept === "cut" ? "…" : ""}`]
    )
  ]
}

/** A carrier's answer as lines for people: its kind first. */
export const reply = (of: Carrier.CarrierReply): ReadonlyArray<string> => {
  switch (of.kind) {
    case "offers":
      return [`${of.offers.length} ${of.offers.length === 1 ? "offer" : "offers"}`, ...of.offers.map(offer)]
    case "declined":
      return [`declined (${of.reason})`, ...(of.message === undefined ? [] : [of.message])]
    case "pending":
      return [`pending as ${of.ref}: the carrier will call back`]
    case "question":
      return ["a question", ...of.questions.map(({ label, path }) => `${path}: ${label}`)]
    case "unavailable":
      return [`no answer (${of.reason})`]
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
