import type { ReceiverWeather } from "./Receivers.ts"
import type { StorageWeather } from "./SimulatedStorage.ts"
import type { Action } from "./Story.ts"

/** The faults around the hosts at any moment, determined by the story alone. */
export interface Weather extends ReceiverWeather, StorageWeather {
  readonly consumersFail: () => boolean
}

/** How long after its end a fault may still have consequences for claims. A host may die some steps after its kill. */
const shadowMs = 15_000

const shadowOf = (action: Action): number => {
  switch (action.do) {
    case "kill":
    case "stop":
      return action.down_ms + shadowMs
    case "pause":
    case "storage":
      return action.for_ms + shadowMs
    case "hints":
      // A host knows that its connection is cut.
      return action.how === "cut" ? -1 : action.for_ms + shadowMs
    case "set the clock":
      return shadowMs
    default:
      return -1
  }
}

/** The faults of a story, by the time since it began. Each ends by `busyMs`, except in receivers that fail for good. */
export const make = (actions: ReadonlyArray<Action>, since: () => number, busyMs: number): Weather => {
  const isOn = ({ at, for_ms }: { readonly at: number; readonly for_ms: number }) => {
    const now = since()
    return at <= now && now < Math.min(at + for_ms, busyMs)
  }
  const hasBegun = ({ at }: { readonly at: number }) => at <= since()
  const all = {
    storage: actions.filter((action) => action.do === "storage"),
    hints: actions.filter((action) => action.do === "hints"),
    receivers: actions.filter((action) => action.do === "receiver"),
    names: actions.filter((action) => action.do === "name servers are down"),
    consumers: actions.filter((action) => action.do === "consumers fail")
  }
  return {
    isCalm: () => actions.every((action) => since() < action.at || since() > action.at + shadowOf(action)),
    fault: (host) =>
      all.storage.find((action) => isOn(action) && (action.host === null || action.host === host))?.how ?? null,
    hints: (host) =>
      all.hints.find((action) => isOn(action) && (action.host === null || action.host === host))?.how ?? null,
    receiver: (receiver) =>
      all.receivers.find(
        (action) => action.receiver === receiver && (action.how === "fails for good" ? hasBegun(action) : isOn(action))
      )?.how ?? null,
    nameServersAreDown: () => all.names.some(isOn),
    consumersFail: () => all.consumers.some(isOn)
  }
}
