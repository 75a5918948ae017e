import { variableOf } from "./Settings.ts"

/** A required flag or argument that was not given. */
export type MissingSetting =
  | { readonly argument: string }
  | { readonly flag: string; readonly is_secret: boolean; readonly has_variable: boolean }

/** Whether a flag's description mentions its environment variable. */
export const namesVariable =
  (flag: string) =>
  (description: string): boolean =>
    description.includes(`[${variableOf(flag)}]`)

/** What can be given instead of a setting, and how to create a value for it. */
const hints: { readonly [flag: string]: { readonly instead?: string; readonly make?: string } } = {
  "database-url": { instead: "--cells for several databases" },
  "api-key": { make: "or save a key with: quotewire login" },
  "seal-keys": { make: "create a seal key with: openssl rand -base64 32" }
}

const conjunction = new Intl.ListFormat("en", { type: "conjunction" })

/**
 * Lists the missing arguments and settings. For a secret, its variable comes first, because other users can see the
 * command line.
 */
export const sentencesOf = (settings: ReadonlyArray<MissingSetting>): ReadonlyArray<string> => {
  const typed = settings.flatMap((setting) =>
    "argument" in setting ? [`<${setting.argument}>`] : setting.has_variable ? [] : [`--${setting.flag}`]
  )
  const set = settings.filter((setting) => "flag" in setting).filter(({ has_variable }) => has_variable)
  const instructions = set.flatMap(({ flag }) => hints[flag]?.make ?? [])
  return [
    ...(typed.length === 0 ? [] : [`${conjunction.format(typed)} ${typed.length === 1 ? "is" : "are"} required`]),
    ...(set.length === 0 ? [] : [[`Set ${conjunction.format(set.map(nameOf))}`, ...instructions].join("; ")])
  ]
}

/** The sentence that asks for the secrets with these flags. */
export const requestFor = (flags: ReadonlyArray<string>): string =>
  sentencesOf(flags.map((flag) => ({ flag, is_secret: true, has_variable: true }))).join(" ")

const nameOf = ({ flag, is_secret }: Extract<MissingSetting, { readonly flag: string }>): string => {
  const [first, second] = is_secret ? [variableOf(flag), `--${flag}`] : [`--${flag}`, variableOf(flag)]
  const instead = hints[flag]?.instead
  return `${first} (or ${second}${instead === undefined ? "" : `, or ${instead}`})`
}
