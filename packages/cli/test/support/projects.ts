import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Choices, carriers, places } from "../../src/create/Choices.ts"
import { filesOf, type ProjectFile } from "../../src/create/Project.ts"
import { version } from "../../src/version.ts"

const templates = fileURLToPath(new URL("../../templates/", import.meta.url))
const root = fileURLToPath(new URL("../../../..", import.meta.url))

/** The text of a template. */
export const templateOf = (template: string): string => readFileSync(join(templates, template), "utf8")

const either = [false, true] as const

/** Every combination of choices. */
export const allChoices: ReadonlyArray<Choices> = places.flatMap((place) =>
  carriers.flatMap((carrier) =>
    either.flatMap((line) =>
      either.flatMap((receiver) => either.map((docker): Choices => ({ place, carrier, line, receiver, docker })))
    )
  )
)

/** A folder name for these choices, such as `fastify-json-line`. */
export const nameOf = ({ carrier, docker, line, place, receiver }: Choices): string =>
  [place, carrier, ...(line ? ["line"] : []), ...(receiver ? ["receiver"] : []), ...(docker ? ["docker"] : [])].join(
    "-"
  )

/** The files of a project with these choices. */
export const projectOf = (choices: Choices): ReadonlyArray<ProjectFile> =>
  filesOf({ name: nameOf(choices), choices, version }, templateOf)

/** Writes a project into a folder. */
export const writeProject = (folder: string, choices: Choices): void => {
  for (const { path, text } of projectOf(choices)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** A folder in which projects find the packages of the repository. `remove` deletes it. */
export const projectsFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "quotewire-create-"))
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * Projects that one run of the compiler can check: those with the same options. A project in Next declares a global
 * variable, whose type depends on the lines.
 */
const groupOf = ({ line, place }: Choices): string => {
  if (place === "next") return line ? "next-line" : "next"
  return place === "nest" ? "nest" : "others"
}

/** Type-checks projects with their own options. Returns the compiler's output, which is empty on success. */
export const typeErrors = (all: ReadonlyArray<Choices>): string => {
  const { folder, remove } = projectsFolder()
  try {
    return [...Map.groupBy(all, groupOf)].map(([group, some]) => errorsOf(join(folder, group), some)).join("")
  } finally {
    remove()
  }
}

const errorsOf = (folder: string, all: ReadonlyArray<Choices>): string => {
  for (const choices of all) writeProject(join(folder, nameOf(choices)), choices)
  const [first] = all
  if (first === undefined) return ""
  const options = {
    extends: `./${nameOf(first)}/tsconfig.json`,
    compilerOptions: { incremental: false },
    include: ["*/**/*.ts"],
    // Next is not installed here.
    exclude: ["*/next.config.ts"]
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options))
  const compiler = join(root, "node_modules/typescript/bin/tsc")
  const { stderr, stdout } = spawnSync(process.execPath, [compiler, "--noEmit", "-p", folder], { encoding: "utf8" })
  return stdout + stderr
}

/** Runs the tests of a generated project. Returns what failed; empty on success. */
export const testFailures = (folder: string): string => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ["--test", "test/**/*.test.ts"], {
    cwd: folder,
    encoding: "utf8"
  })
  return status === 0 ? "" : stdout + stderr
}
