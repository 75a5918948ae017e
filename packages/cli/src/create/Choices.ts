/** Where a new project's service runs: in a program with this framework, or as a separate program (`host`). */
export const places = ["fastify", "express", "hono", "next", "nest", "host"] as const
export type Place = (typeof places)[number]

/** The carriers that a new project can start with. */
export const carriers = ["json", "xml", "rate-plan", "none"] as const
export type CarrierChoice = (typeof carriers)[number]

/** The user's choices for a new project. */
export interface Choices {
  readonly place: Place
  readonly carrier: CarrierChoice
  /** Whether the project has a custom insurance line. */
  readonly line: boolean
  /** Whether the project has a webhook receiver. */
  readonly receiver: boolean
  /** Whether the project has files for Docker and PostgreSQL. */
  readonly docker: boolean
}

/** The words that stand for these choices in the conditions of templates. */
export const wordsOf = ({ carrier, docker, line, place, receiver }: Choices): ReadonlySet<string> =>
  new Set([
    place,
    ...(carrier === "none" ? [] : [carrier]),
    ...(docker ? ["docker"] : []),
    ...(line ? ["line"] : []),
    ...(receiver ? ["receiver"] : [])
  ])

/** Every word that can stand for a choice. */
const allWords: ReadonlySet<string> = new Set([
  ...places,
  ...carriers.filter((carrier) => carrier !== "none"),
  "docker",
  "line",
  "receiver"
])

/**
 * Whether a condition holds. `json|xml` holds if one of the words is chosen, `!docker` if that word is not chosen. A
 * condition with several parts, separated by spaces, holds if every part does. Throws for an unknown word.
 */
export const holds = (condition: string, words: ReadonlySet<string>): boolean =>
  condition.split(" ").every((part) =>
    part.split("|").some((alternative) => {
      const word = alternative.replace("!", "")
      if (!allWords.has(word)) throw new Error(`There is no choice named ${word}.`)
      return words.has(word) !== alternative.startsWith("!")
    })
  )
