/** Where the service of a new project runs: in a program with this framework, or as a separate program. */
export const places = ["fastify", "express", "hono", "next", "nest", "host"] as const
export type Place = (typeof places)[number]

/** The carriers that a new project can begin with. */
export const carriers = ["json", "xml", "rate-plan", "none"] as const
export type CarrierChoice = (typeof carriers)[number]

/** The choices for a new project. */
export interface Choices {
  readonly place: Place
  readonly carrier: CarrierChoice
  /** Whether the project has a custom line. */
  readonly line: boolean
  /** Whether the project has a webhook receiver. */
  readonly receiver: boolean
  /** Whether the project has files for Docker and PostgreSQL. */
  readonly docker: boolean
}

/** The words for these choices, as conditions in templates use them. */
export const wordsOf = ({ carrier, docker, line, place, receiver }: Choices): ReadonlySet<string> =>
  new Set([
    place,
    ...(carrier === "none" ? [] : [carrier]),
    ...(docker ? ["docker"] : []),
    ...(line ? ["line"] : []),
    ...(receiver ? ["receiver"] : [])
  ])

/** All words of all choices. */
const allWords: ReadonlySet<string> = new Set([
  ...places,
  ...carriers.filter((carrier) => carrier !== "none"),
  "docker",
  "line",
  "receiver"
])

/**
 * Whether a condition holds: `json|xml` if one of the words is chosen, `!docker` if the word is not, and several parts,
 * separated by spaces, if each of them holds. Throws if there is no such word.
 */
export const holds = (condition: string, words: ReadonlySet<string>): boolean =>
  condition.split(" ").every((part) =>
    part.split("|").some((alternative) => {
      const word = alternative.replace("!", "")
      if (!allWords.has(word)) throw new Error(`There is no choice named ${word}.`)
      return words.has(word) !== alternative.startsWith("!")
    })
  )
