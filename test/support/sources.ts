import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { fileURLToPath } from "node:url"

/** The root of the repository. */
export const root = fileURLToPath(new URL("../..", import.meta.url))

/** An import or a re-export. */
export interface Import {
  /** As it is written. */
  readonly specifier: string
  /** The file that a relative import names, from the root of the repository; null for a package. */
  readonly target: string | null
  /** The names that are bound to values; `*` for a namespace or a whole re-export. */
  readonly values: ReadonlyArray<string>
  /** The names that are types only. */
  readonly types: ReadonlyArray<string>
}

/** A text file of the repository. */
export interface Source {
  /** From the root of the repository, such as `packages/core/src/wire/Json.ts`. */
  readonly path: string
  readonly text: string
  /** The text without comments. */
  readonly code: string
  readonly imports: ReadonlyArray<Import>
}

const skipped = new Set(["node_modules", "dist", "generated", "results", ".git"])

const filesIn = (folder: string): ReadonlyArray<string> =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
        // Tests that run beside this one make and remove folders.
        if (skipped.has(entry.name) || entry.name.startsWith("made-")) return []
        const path = join(folder, entry.name)
        return entry.isDirectory() ? filesIn(path) : [path]
      })
    : []

/** The files below a folder of the repository whose names end with one of the endings. */
export const sources = (folder: string, ...endings: ReadonlyArray<string>): ReadonlyArray<Source> =>
  filesIn(join(root, folder))
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .map((path) => read(relative(root, path)))

/** Reads one file of the repository. */
export const read = (path: string): Source => {
  const text = readFileSync(join(root, path), "utf8")
  const code = path.endsWith(".ts") ? withoutComments(text) : text
  return { path, text, code, imports: path.endsWith(".ts") ? importsOf(path, code) : [] }
}

/** The packages of the repository, by the names of their folders. */
export const packages: ReadonlyArray<string> = readdirSync(join(root, "packages")).filter((name) =>
  existsSync(join(root, "packages", name, "package.json"))
)

/** The part of a package's manifest that the tests read. */
export interface Manifest {
  readonly name: string
  readonly version?: string
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Reads a `package.json`; `folder` is from the root of the repository. */
export const manifest = (folder: string): Manifest => JSON.parse(read(join(folder, "package.json")).text)

/** What a program can import from a package: its module specifiers, such as `@quotewire/core/testing`. */
export const entryPoints = (name: string): ReadonlyArray<string> =>
  Object.entries(manifest(`packages/${name}`).exports ?? {})
    .filter(([, entry]) => typeof entry !== "string")
    .map(([path]) => path.replace(".", `@quotewire/${name}`))

// Strings first, so that `//` inside a string is not a comment.
const textOrComment = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g

const withoutComments = (text: string): string =>
  text.replaceAll(textOrComment, (found) => (found.startsWith("/") ? found.replaceAll(/[^\n]/g, " ") : found))

const statement = /^(?:import|export)\s+(type\s+)?([\w$*{},\s]*?)\s+from\s+"([^"]+)"/gm
const bareImport = /(?:^import\s+|\bimport\()"([^"]+)"/gm

const importsOf = (path: string, code: string): ReadonlyArray<Import> => [
  ...Array.from(code.matchAll(statement), ([, isType, clause = "", specifier = ""]): Import => {
    const names = namesOf(clause)
    return {
      specifier,
      target: targetOf(path, specifier),
      values: isType === undefined ? names.filter((name) => !name.startsWith("type ")) : [],
      types:
        isType === undefined ? names.filter((name) => name.startsWith("type ")).map((name) => name.slice(5)) : names
    }
  }),
  ...Array.from(
    code.matchAll(bareImport),
    ([, specifier = ""]): Import => ({
      specifier,
      target: targetOf(path, specifier),
      values: ["*"],
      types: []
    })
  )
]

/** The names of an import clause, as the other module exports them. */
const namesOf = (clause: string): ReadonlyArray<string> => {
  const braces = /\{([^}]*)\}/.exec(clause)
  const named = (braces?.[1] ?? "")
    .split(",")
    .map((name) => name.trim().replace(/\s+as\s+.*$/, ""))
    .filter((name) => name !== "")
  const rest = clause
    .replace(/\{[^}]*\}/, "")
    .replaceAll(",", "")
    .trim()
  if (rest === "") return named
  return [...named, rest.startsWith("*") ? "*" : "default"]
}

const targetOf = (path: string, specifier: string): string | null =>
  specifier.startsWith(".") ? normalize(join(dirname(path), specifier)) : null
