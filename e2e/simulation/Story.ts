import type { WorkspaceName } from "./World.ts"

/*
 * A story is data: what callers and operators do, how carriers and receivers behave, and what fails. The seed
 * determines the story, and the order of its steps. A story can be shrunk by leaving out actions.
 */

/** The carriers of a story, by how they are asked. */
export const carrierModes = {
  "naic:90001": "answers at once",
  "naic:90002": "may be slow, and is hedged",
  "naic:90003": "must not be asked twice",
  "naic:90004": "is polled",
  "naic:90005": "calls back, and must not be asked twice",
  "naic:90006": "is polled or calls back, in two steps",
  "naic:90007": "has room for two calls"
} as const
export type CarrierId = keyof typeof carrierModes

/** A carrier's final answer. */
export const answers = [
  "offers",
  "two offers",
  "an offer that is refreshed",
  "an offer that expires",
  "declines",
  "asks a question",
  "gives no answer",
  "is busy",
  "fails for good",
  "hangs",
  "throws",
  "lies",
  "lies about its kind"
] as const
export type Answer = (typeof answers)[number]

/** How a carrier behaves in one ask. */
export interface Behaviour {
  readonly answer: Answer
  /** How long each of its answers takes, in milliseconds. */
  readonly takes_ms: number
  /** How many times it is polled before it answers, or how many times it sends its callback. */
  readonly times: number
}

/** How a webhook receiver fails for a while. */
export const receiverFaults = ["returns 500", "hangs", "redirects", "is slow", "is gone", "fails for good"] as const
export type ReceiverFault = (typeof receiverFaults)[number]

/** How storage fails for a while. */
export const storageFaults = [
  "is down",
  "is read-only",
  "is full",
  "is slow",
  "loses statements",
  "loses responses"
] as const
export type StorageFault = (typeof storageFaults)[number]

/** How hints fail for a while. */
export const hintFaults = ["late", "lost", "cut"] as const
export type HintFault = (typeof hintFaults)[number]

/** The insurance lines of a story. */
export const lines = ["renters", "pet", "personal_auto"] as const

/** One action. `request`, `subscription`, `receiver` and `host` are numbers within the story. */
export type Deed =
  | {
      readonly do: "start"
      readonly request: number
      readonly workspace: WorkspaceName
      readonly line: (typeof lines)[number]
      readonly key: "server" | "platform" | "widget"
      /** How many copies of the start call are sent at the same time. */
      readonly copies: number
      /** How many responses are lost on the way to the caller. */
      readonly lost_answers: number
      /** The special feature of the start call. */
      readonly as?: "one that cannot start" | "one where no carrier is"
    }
  | { readonly do: "read"; readonly request: number; readonly wait_seconds: number }
  | { readonly do: "cancel"; readonly request: number }
  | { readonly do: "erase"; readonly request: number }
  | {
      readonly do: "subscribe"
      readonly subscription: number
      readonly workspace: WorkspaceName
      readonly receiver: number
      readonly types: "all" | "ends" | "quotes"
    }
  | { readonly do: "rotate"; readonly subscription: number }
  | { readonly do: "disable"; readonly subscription: number }
  | { readonly do: "send a test"; readonly subscription: number }
  | { readonly do: "replay a delivery"; readonly subscription: number }
  /** An operator creates a new key, and revokes the spare one. */
  | { readonly do: "rotate a key"; readonly workspace: WorkspaceName }
  | { readonly do: "use the spare key"; readonly workspace: WorkspaceName }
  | { readonly do: "advance"; readonly workspace: WorkspaceName; readonly seconds: number }
  | { readonly do: "reset"; readonly workspace: WorkspaceName }
  | { readonly do: "force expiry"; readonly workspace: WorkspaceName }
  | { readonly do: "replay events"; readonly workspace: WorkspaceName }
  | { readonly do: "kill"; readonly host: number; readonly after_steps: number; readonly down_ms: number }
  | { readonly do: "stop"; readonly host: number; readonly down_ms: number }
  | { readonly do: "pause"; readonly host: number; readonly for_ms: number }
  | { readonly do: "set the clock"; readonly host: number; readonly apart_ms: number }
  | {
      readonly do: "storage"
      readonly how: StorageFault
      /** The affected host; null for all. */
      readonly host: number | null
      readonly for_ms: number
    }
  | {
      readonly do: "hints"
      readonly how: HintFault
      /** The host that misses them, so that only its caches are outdated; null for all. */
      readonly host: number | null
      readonly for_ms: number
    }
  | { readonly do: "receiver"; readonly receiver: number; readonly how: ReceiverFault; readonly for_ms: number }
  | { readonly do: "name servers are down"; readonly for_ms: number }
  | { readonly do: "consumers fail"; readonly for_ms: number }

/** An action and its time: milliseconds after the beginning. */
export type Action = Deed & { readonly at: number }

/** Everything that happens in a story. */
export interface Story {
  /** Determines the order of steps, and how long messages take. */
  readonly seed: number
  readonly hosts: number
  /** Whether the hosts also consume events. */
  readonly consumes: boolean
  /**
   * Whether callers and one carrier have tight limits. Hosts and storage do not fail in such a story, so that calls can
   * be counted.
   */
  readonly has_limits: boolean
  /** How long callers and faults continue, in milliseconds. After that all faults heal, and the rest is quiet. */
  readonly busy_ms: number
  readonly actions: ReadonlyArray<Action>
  /** How each carrier behaves: request n gets behavior n, and the list repeats. */
  readonly carriers: { readonly [id in CarrierId]: ReadonlyArray<Behaviour> }
}

const secondsOf = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

/** An action as one readable line. */
export const lineOf = (action: Action): string => {
  const { at, do: deed, ...rest } = action
  const details = Object.entries(rest).map(([name, value]) =>
    name.endsWith("_ms") && typeof value === "number" ? `${name.slice(0, -3)} ${secondsOf(value)}` : `${name} ${value}`
  )
  return `${secondsOf(at).padStart(8)}  ${deed}${details.length === 0 ? "" : `: ${details.join(", ")}`}`
}

/** A story as lines: its actions in order, and how its carriers behave in the remaining requests. */
export const linesOf = ({ actions, carriers, seed }: Story): ReadonlyArray<string> => {
  const requests = actions.flatMap((action) => (action.do === "start" ? [action.request] : []))
  const behaviours = Object.entries(carriers).flatMap(([id, all]) =>
    requests.map((request) => {
      const { answer, takes_ms, times } = all[request % all.length] ?? { answer: "offers", takes_ms: 0, times: 1 }
      return `          ${id}, request ${request}: ${answer}, takes ${secondsOf(takes_ms)}, times ${times}`
    })
  )
  return [`seed ${seed}`, ...actions.map(lineOf), ...(requests.length > 3 ? [] : behaviours)]
}
