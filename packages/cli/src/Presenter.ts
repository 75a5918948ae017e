import { Console, type Layer } from "effect"
import { CliOutput } from "effect/cli"

/** Help goes to standard output whole; wrong usage is one sentence on standard error. */
export const layer: Layer.Layer<never> = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    const [first] = event.errors
    const sentence = (first?.message ?? "Wrong usage").split("\n")[0] ?? ""
    return Console.error(`${sentence.replace(/\.?$/, ".")} See ${event.commandPath.join(" ")} --help.`)
  }
})
