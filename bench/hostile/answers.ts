import { Carrier } from "@quotewire/core"
import { Schema } from "effect"

/** A carrier's answer of the maximum length that is meant to keep the host busy. */
export interface HostileAnswer {
  readonly name: string
  readonly schema: Schema.Decoder<unknown>
  readonly body: () => string
}

const maxBytes = 1024 * 1024

/** A list of equal items that fills an answer. */
const list = (item: string): string => {
  const items: Array<string> = Array(Math.floor((maxBytes - 64) / (item.length + 1))).fill(item)
  return `[${items.join(",")}]`
}

const names = Array.from({ length: 12 }, (_, i) => `field_${i}`)
const Row = Schema.Struct(Object.fromEntries(names.map((name) => [name, Schema.String])))
const Quotes = Schema.Struct({ quotes: Schema.Array(Row) })
const Either = Schema.Struct({
  quotes: Schema.Union([Schema.Array(Row), Schema.Record(Schema.String, Row), Schema.Array(Schema.Array(Row))])
})
const record = (value: string): string =>
  `{${Array.from({ length: 80_000 }, (_, i) => `"${i.toString(36)}":${value}`).join(",")}}`

/** The most expensive answers that we know of. The host refuses each as unreadable. */
export const answers: ReadonlyArray<HostileAnswer> = [
  { name: "quotes without fields", schema: Quotes, body: () => `{"quotes":${list("{}")}}` },
  { name: "quotes that are numbers", schema: Quotes, body: () => `{"quotes":${list("1")}}` },
  { name: "quotes of one of three shapes", schema: Either, body: () => `{"quotes":${list("[{}]")}}` },
  {
    name: "a record of quotes without fields",
    schema: Schema.Struct({ quotes: Schema.Record(Schema.String, Row) }),
    body: () => `{"quotes":${record("{}")}}`
  },
  {
    name: "offers without fields",
    schema: Carrier.CarrierReply,
    body: () => `{"kind":"offers","offers":${list("{}")}}`
  },
  {
    name: "questions without fields",
    schema: Carrier.CarrierReply,
    body: () => `{"kind":"question","questions":${list("{}")}}`
  }
]
