import { Effect, FileSystem, Path } from "effect"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import { planOf } from "./Layout.ts"
import { filesOf, type Project, type ProjectFile } from "./Project.ts"

const templatesFolder = Path.Path.use((path) =>
  Effect.orDie(path.fromFileUrl(new URL("../../templates/", import.meta.url)))
)

/** Creates the files of a project from this package's templates. */
export const read = Effect.fnUntraced(function* (project: Project) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* templatesFolder
  const texts = new Map<string, string>()
  for (const { template } of planOf(project.choices)) {
    texts.set(template, yield* Effect.orDie(files.readFileString(path.join(folder, template))))
  }
  return filesOf(project, (template) => texts.get(template) ?? "")
})

/**
 * Fails unless a project can be written into the folder: the folder must not exist yet, or contain nothing but `.git`.
 */
export const check = Effect.fnUntraced(function* (folder: string) {
  const files = yield* FileSystem.FileSystem
  const refused = new WrongUsage({
    message: "<folder> must be empty, apart from .git, or not exist yet. Nothing was written."
  })
  if (!(yield* Effect.orElseSucceed(files.exists(folder), () => false))) return
  const entries = yield* Effect.mapError(files.readDirectory(folder), () => refused)
  if (entries.some((entry) => entry !== ".git" && !entry.startsWith(".git/"))) return yield* refused
})

/** Writes a project's files into a folder. */
export const write = Effect.fnUntraced(
  function* (folder: string, project: ReadonlyArray<ProjectFile>) {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    for (const { path: name, text } of project) {
      const file = path.join(folder, name)
      yield* files.makeDirectory(path.dirname(file), { recursive: true })
      yield* files.writeFileString(file, text)
    }
  },
  Effect.mapError(() => new CommandFailed({ message: "<folder> cannot be written to." }))
)
