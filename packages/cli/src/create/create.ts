import { Effect, Option, Path } from "effect"
import { Argument, Command, Flag, TerminalCapabilities } from "effect/cli"
import * as ConfigFile from "../config/ConfigFile.ts"
import { WrongUsage } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { anyOf, json, word } from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"
import { version } from "../version.ts"
import { type Choices, carriers, places } from "./Choices.ts"
import { packageNameOf } from "./Project.ts"
import * as ProjectFolder from "./ProjectFolder.ts"
import { askChoices, askFolder } from "./Questions.ts"

const folderArgument = Argument.String("folder").pipe(
  Argument.withDescription("Folder of the project; by default the current one"),
  Argument.optional
)

const part = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.optional)

const flags = {
  in: Flag.optional(word("in", places, "Where the service runs: in this framework, or as a separate host")),
  carrier: Flag.optional(word("carrier", carriers, "Carrier to start with; none by default")),
  line: part("line", "Add an insurance line of your own: bicycles"),
  receiver: part("receiver", "Add a webhook receiver"),
  docker: part("docker", "Add files for Docker, with PostgreSQL")
}

interface ChoiceFlags {
  readonly in: Option.Option<Choices["place"]>
  readonly carrier: Option.Option<Choices["carrier"]>
  readonly line: Option.Option<boolean>
  readonly receiver: Option.Option<boolean>
  readonly docker: Option.Option<boolean>
}

/** The choices that the user made with flags. */
const choicesOf = ({ carrier, docker, in: place, line, receiver }: ChoiceFlags): Effect.Effect<Choices, WrongUsage> =>
  Option.isNone(place)
    ? Effect.fail(new WrongUsage({ message: `Choose where the service runs: --in must be ${anyOf(places)}.` }))
    : Effect.succeed({
        place: place.value,
        carrier: Option.getOrElse(carrier, () => "none" as const),
        line: Option.getOrElse(line, () => false),
        receiver: Option.getOrElse(receiver, () => false),
        docker: Option.getOrElse(docker, () => false)
      })

/** Whether to ask the user questions: only at a terminal, and if no flag makes a choice. */
const asks = ({ carrier, docker, in: place, line, receiver }: ChoiceFlags) =>
  Effect.map(
    TerminalCapabilities.TerminalCapabilities,
    ({ canPrompt }) =>
      canPrompt && [place, carrier, line, receiver, docker].every((choice) => Option.isNone<unknown>(choice))
  )

const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** `quotewire create` writes a new project. */
export const create = Command.make("create", reportAllErrors({ folder: folderArgument, ...flags, json }), (settings) =>
  Effect.gen(function* () {
    const { folder: folderFlag, json: isJson, ...choiceFlags } = settings
    const path = yield* Path.Path
    const isAsked = yield* asks(choiceFlags)
    const folder = isAsked && Option.isNone(folderFlag) ? yield* askFolder : Option.getOrElse(folderFlag, () => ".")
    const into = path.resolve(folder)
    yield* ProjectFolder.check(into)
    const choices = isAsked ? yield* askChoices : yield* choicesOf(choiceFlags)
    const files = yield* ProjectFolder.read({ name: packageNameOf(path.basename(into)), choices, version })
    yield* ProjectFolder.write(into, files)
    const paths = files.map((file) => file.path)
    const shownPath = ConfigFile.shownFrom(path)(into)
    const install = shownPath === "" ? "npm install" : `cd ${quoted(shownPath)} && npm install`
    const next = [install, "npm test", "npm run dev"]
    yield* Output.result({ json: isJson }, { folder: into, files: paths, next }, [
      `Wrote ${paths.length} files:`,
      ...paths.map((file) => `  ${file}`),
      "",
      "Next steps, which README.md continues:",
      ...next.map((command) => `  ${command}`)
    ])
  })
).pipe(Command.withDescription("Write a new project that embeds or configures the service, with its first tests"))
