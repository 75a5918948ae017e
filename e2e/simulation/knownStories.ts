import type { Answer, Behaviour, CarrierId, Story } from "./Story.ts"

/*
 * Shrunk stories that found a fault. They are stored as data, because a change to the writer gives their seeds
 * different stories.
 */

const all = (answer: Answer, takes_ms: number): ReadonlyArray<Behaviour> => [{ answer, takes_ms, times: 1 }]

const offering = all("offers", 500)

/** Carriers that offer, except for some. */
const carriers = (others: { readonly [id in CarrierId]?: ReadonlyArray<Behaviour> } = {}): Story["carriers"] => ({
  "naic:90001": offering,
  "naic:90002": offering,
  "naic:90003": offering,
  "naic:90004": offering,
  "naic:90005": offering,
  "naic:90006": offering,
  "naic:90007": offering,
  ...others
})

const story = (parts: Pick<Story, "seed" | "actions" | "busy_ms"> & Partial<Story>): Story => ({
  hosts: 2,
  consumes: false,
  has_limits: false,
  carriers: carriers(),
  ...parts
})

const start = { do: "start", line: "renters", key: "server", copies: 1, lost_answers: 0 } as const

/** Each story, and what it found. */
export const knownStories: { readonly [found: string]: Story } = {
  "a test event queued with the clock from before a reset": story({
    seed: 1,
    busy_ms: 37_000,
    actions: [
      { at: 0, do: "subscribe", subscription: 0, workspace: "acme sandbox", receiver: 0, types: "all" },
      { at: 3_000, do: "advance", workspace: "acme sandbox", seconds: 100_000 },
      { at: 12_000, do: "send a test", subscription: 0 },
      { at: 12_007, do: "pause", host: 1, for_ms: 10_000 },
      { at: 17_000, do: "reset", workspace: "acme sandbox" }
    ]
  }),
  "a carrier that continued the calls of a stopped host": story({
    seed: 1,
    busy_ms: 60_000,
    carriers: carriers({ "naic:90007": all("offers", 14_000) }),
    actions: [
      { ...start, at: 1_000, request: 0, workspace: "bolt live" },
      { ...start, at: 1_100, request: 1, workspace: "bolt live" },
      { ...start, at: 1_200, request: 2, workspace: "bolt live" },
      { at: 3_000, do: "stop", host: 0, down_ms: 5_000 },
      { at: 4_000, do: "stop", host: 1, down_ms: 5_000 }
    ]
  })
}
