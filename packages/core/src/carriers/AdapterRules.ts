import { servedStates } from "../lines/State.ts"
import type { CarrierAdapter } from "./Carrier.ts"

/** A rule that an adapter breaks: the path in the adapter, and the requirement. */
export interface AdapterFault {
  readonly path: string
  readonly message: string
}

const states: ReadonlySet<string> = new Set(servedStates)

/** The rules that an adapter breaks; none if the service can work with it. */
export const check = ({ carrier, lines }: CarrierAdapter): ReadonlyArray<AdapterFault> => [
  ...(carrier.id === "" ? [{ path: "carrier.id", message: "Must not be empty." }] : []),
  ...(carrier.name === "" ? [{ path: "carrier.name", message: "Must not be empty." }] : []),
  ...Object.entries(lines).flatMap(([line, terms]) =>
    terms.states.flatMap((state, position) =>
      states.has(state) ? [] : [{ path: `lines.${line}.states.${position}`, message: "Must be a USPS state code." }]
    )
  )
]
