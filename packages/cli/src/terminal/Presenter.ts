import { Console, Effect, Layer, Option, type Stdio } from "effect"
import { type CliError, CliOutput, type HelpDoc } from "effect/cli"
import * as MissingSettings from "../settings/MissingSettings.ts"
import { WrongParameters } from "../settings/Parameters.ts"
import { settingError } from "../settings/Settings.ts"
import { examplesOf } from "./Examples.ts"
import { errorStyle } from "./Style.ts"

/** Prints help to standard output. Prints wrong usage to standard error, one line for each mistake. */
export const layer: Layer.Layer<never, never, Stdio.Stdio> = Layer.unwrap(
  Effect.map(errorStyle, ({ red }) =>
    CliOutput.layerPresenter({
      present: (event) => {
        if (event._tag === "Help") return CliOutput.defaultPresenter.present(withExamples(event))
        if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
        const sentences = sentencesOf(event.errors, event.helpDoc).map((sentence) => `${sentence.replace(/\.$/, "")}.`)
        const see = `See ${event.commandPath.join(" ")} --help.`
        const text = sentences.join(sentences.length > 1 ? "\n" : "")
        return Console.error(`${red(text)}${sentences.length > 1 ? "\n" : " "}${see}`)
      }
    })
  )
)

const withExamples = (event: CliOutput.Presenter.Help): CliOutput.Presenter.Help => ({
  ...event,
  helpDoc: { ...event.helpDoc, examples: examplesOf(event.commandPath) }
})

type UsageError = CliError.NonShowHelpErrors

/** The maximum number of sentences that are printed. */
const maxSentences = 20

/** Describes the mistakes in sentences, missing settings first. */
const sentencesOf = (errors: ReadonlyArray<CliError.CliError>, help: HelpDoc.HelpDoc): ReadonlyArray<string> => {
  const each = errors.flatMap(flattened)
  const missingSettings = each.flatMap((error): ReadonlyArray<MissingSettings.MissingSetting> => {
    if (error._tag === "MissingArgument") return [{ argument: error.argument }]
    if (error._tag !== "MissingOption") return []
    const flag = help.flags.find(({ name }) => name === error.option)
    const has_variable = Option.exists(flag?.description ?? Option.none(), MissingSettings.namesVariable(error.option))
    return [{ flag: error.option, is_secret: flag?.type === "secret", has_variable }]
  })
  const mistakes = each.filter(({ _tag }) => _tag !== "MissingArgument" && _tag !== "MissingOption").map(sentenceOf)
  const sentences = new Set([...MissingSettings.sentencesOf(missingSettings), ...mistakes])
  return sentences.size === 0 ? ["Wrong usage"] : [...sentences].slice(0, maxSentences)
}

const flattened = (error: CliError.CliError): ReadonlyArray<UsageError> => {
  if (error._tag === "ShowHelp") return error.errors.flatMap(flattened)
  return error._tag === "UserError" && error.cause instanceof WrongParameters
    ? error.cause.errors.flatMap(flattened)
    : [error]
}

/** Describes a mistake without repeating the input, which may be a key or contain a password. */
const sentenceOf = (error: UsageError): string => {
  switch (error._tag) {
    case "UnrecognizedOption":
      return `There is no such flag${closest(error.suggestions)}`
    case "UnknownSubcommand":
      return `There is no such command${closest(error.suggestions)}`
    case "UnexpectedArgument":
      return "Too many arguments"
    case "InvalidValue":
      return wrongValue(error)
    default:
      return "Wrong usage"
  }
}

const closest = (suggestions: ReadonlyArray<string>): string =>
  suggestions.length === 0 ? "" : `; the closest is ${suggestions.join(" or ")}`

/** Describes what a setting must be. Effect's own message may repeat the value, so it is not used. */
const wrongValue = ({ expected, kind, option }: CliError.InvalidValue): string => {
  const name = kind === "flag" ? `--${option}` : `<${option}>`
  if (expected.startsWith(`${name} `)) return expected
  if (option === "completions") return "--completions must be bash, zsh, fish or powershell"
  return kind === "flag" ? settingError(option, "be set once, to a valid value") : `${name} is not valid`
}
