import { Console, type Layer } from "effect"
import { type CliError, CliOutput } from "effect/cli"
import { must } from "./Settings.ts"

/** Help goes to standard output whole; wrong usage is one sentence on standard error. */
export const layer: Layer.Layer<never> = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    const [first] = event.errors
    const sentence = first === undefined ? "Wrong usage" : sentenceOf(first)
    return Console.error(`${sentence}. See ${event.commandPath.join(" ")} --help.`)
  }
})

/** What is wrong, in words of this program alone: whatever was typed may be a key or hold a password. */
const sentenceOf = (error: CliError.NonShowHelpErrors): string => {
  switch (error._tag) {
    case "UnrecognizedOption":
      return `There is no such flag${meant(error.suggestions)}`
    case "UnknownSubcommand":
      return `There is no such command${meant(error.suggestions)}`
    case "UnexpectedArgument":
      return "There are more arguments than the command takes"
    case "MissingOption":
      return `--${error.option} must be given`
    case "MissingArgument":
      return `<${error.argument}> must be given`
    case "InvalidValue":
      return wrongValue(error)
    default:
      return "Wrong usage"
  }
}

const meant = (suggestions: ReadonlyArray<string>): string =>
  suggestions.length === 0 ? "" : `; you may mean ${suggestions.join(" or ")}`

/** What the setting says that it must be. What Effect says instead may repeat the value. */
const wrongValue = ({ expected, kind, option }: CliError.InvalidValue): string => {
  const name = kind === "flag" ? `--${option}` : `<${option}>`
  if (expected.startsWith(`${name} `)) return expected
  return kind === "flag" ? must(option, "be given once, with a valid value") : `${name} is not valid`
}
