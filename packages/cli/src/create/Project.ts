import { type Choices, type Place, wordsOf } from "./Choices.ts"
import { planOf } from "./Layout.ts"
import { containerCommand, manifestOf } from "./Manifest.ts"
import { render } from "./Template.ts"

/** A file of a new project. */
export interface ProjectFile {
  readonly path: string
  readonly text: string
}

/** A project to create. */
export interface Project {
  /** The package name in the project's `package.json`. */
  readonly name: string
  readonly choices: Choices
  /** The version of the Quotewire packages that the project depends on. */
  readonly version: string
}

/** The path at which each kind of project serves the API. */
const mounts: Readonly<Record<Place, string>> = {
  fastify: "/insurance",
  express: "/insurance",
  hono: "/insurance",
  next: "/api/insurance",
  nest: "/insurance",
  host: ""
}

/** The address of a project's API during development. */
export const addressOf = (place: Place): string =>
  place === "host" ? "http://127.0.0.1:8787" : `http://localhost:3000${mounts[place]}`

/** Creates the files of a project. `templateOf` returns a template's text. */
export const filesOf = (
  { choices, name, version }: Project,
  templateOf: (template: string) => string
): ReadonlyArray<ProjectFile> => {
  const { place } = choices
  const words = wordsOf(choices)
  const values = {
    name,
    mount: mounts[place],
    url: addressOf(place),
    port: place === "host" ? "8787" : "3000",
    start: containerCommand(place)
  }
  const manifest = `${JSON.stringify(manifestOf(name, choices, version), null, 2)}\n`
  return [
    { path: "package.json", text: manifest },
    ...planOf(choices).map(({ path, template }) => ({ path, text: render(templateOf(template), words, values) }))
  ]
}

/** Turns a folder's name into a valid package name. */
export const packageNameOf = (folder: string): string => {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 100)
  return name === "" ? "quotewire-app" : name
}
