import { Console, type Layer } from "effect"
import { type CliError, CliOutput } from "effect/cli"
import { variableOf } from "./Settings.ts"

/** Help goes to standard output whole; wrong usage is one sentence on standard error. */
export const layer: Layer.Layer<never> = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    const [first] = event.errors
    const sentence = first === undefined ? "Wrong usage" : sentenceOf(first)
    return Console.error(`${sentence.replace(/\.?$/, ".")} See ${event.commandPath.join(" ")} --help.`)
  }
})

const sentenceOf = (error: CliError.CliError): string => {
  // Effect reports a variable that cannot be read as the value "config" of its flag.
  if (error._tag === "InvalidValue" && error.value === "config") {
    return `The environment variable ${variableOf(error.option)} has a value that is not valid`
  }
  // What a setting must be, without the value, which may hold a password.
  if (error._tag === "InvalidValue" && error.expected.startsWith("--")) return error.expected
  if (error._tag === "MissingOption") return `--${error.option} must be given`
  return error.message.split("\n")[0] ?? "Wrong usage"
}
