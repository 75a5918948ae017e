import { Console, type Layer } from "effect"
import { type CliError, CliOutput } from "effect/cli"
import { settingError } from "./Settings.ts"

/** Help goes to standard output; wrong usage is one sentence on standard error. */
export const layer: Layer.Layer<never> = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    const [first] = event.errors
    const sentence = first === undefined ? "Wrong usage" : sentenceOf(first)
    return Console.error(`${sentence.replace(/\.$/, "")}. See ${event.commandPath.join(" ")} --help.`)
  }
})

/** Says what is wrong without repeating the input, which may be a key or contain a password. */
const sentenceOf = (error: CliError.NonShowHelpErrors): string => {
  switch (error._tag) {
    case "UnrecognizedOption":
      return `There is no such flag${closest(error.suggestions)}`
    case "UnknownSubcommand":
      return `There is no such command${closest(error.suggestions)}`
    case "UnexpectedArgument":
      return "Too many arguments"
    case "MissingOption":
      return `--${error.option} is required`
    case "MissingArgument":
      return `<${error.argument}> is required`
    case "InvalidValue":
      return wrongValue(error)
    default:
      return "Wrong usage"
  }
}

const closest = (suggestions: ReadonlyArray<string>): string =>
  suggestions.length === 0 ? "" : `; the closest is ${suggestions.join(" or ")}`

/** Says what the setting must be. Effect's own message may repeat the value. */
const wrongValue = ({ expected, kind, option }: CliError.InvalidValue): string => {
  const name = kind === "flag" ? `--${option}` : `<${option}>`
  if (expected.startsWith(`${name} `)) return expected
  if (option === "completions") return "--completions must be bash, zsh, fish or powershell"
  return kind === "flag" ? settingError(option, "be given once, with a valid value") : `${name} is not valid`
}
