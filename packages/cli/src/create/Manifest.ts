import { type Choices, type Place, wordsOf } from "./Choices.ts"

/**
 * The exact versions of packages in new projects. A test compares them with the versions that the repository is tested
 * with.
 */
export const versions = {
  effect: "4.1.0",
  "@hono/node-server": "2.1.8",
  "@nestjs/common": "12.5.1",
  "@nestjs/core": "12.5.1",
  "@nestjs/platform-express": "12.5.1",
  "@types/express": "5.0.6",
  "@types/node": "24.19.2",
  "@types/react": "19.3.0",
  express: "5.3.0",
  fastify: "5.12.8",
  hono: "4.13.19",
  next: "16.4.6",
  react: "19.3.1",
  "react-dom": "19.3.1",
  "reflect-metadata": "0.2.2",
  rxjs: "7.8.2",
  typescript: "7.0.2"
} as const

/** Nest needs decorator metadata, and Next needs the compiler's API. Both were tested with this older version. */
export const olderTypescript = "5.9.3"

type Package = keyof typeof versions

const frameworks: Readonly<Record<Place, ReadonlyArray<Package>>> = {
  fastify: ["fastify"],
  express: ["express"],
  hono: ["@hono/node-server", "hono"],
  next: ["next", "react", "react-dom"],
  nest: ["@nestjs/common", "@nestjs/core", "@nestjs/platform-express", "reflect-metadata", "rxjs"],
  host: []
}

const typings: Readonly<Record<Place, ReadonlyArray<Package>>> = {
  fastify: [],
  express: ["@types/express"],
  hono: [],
  next: ["@types/react"],
  nest: [],
  host: []
}

const command = "node_modules/@quotewire/cli/bin/quotewire.js"
const withSettings = "node --env-file-if-exists=.env"

const forDevelopment = "node --env-file=.env.development --env-file-if-exists=.env"

/** The commands that start each kind of project, for development and in production. */
const starts: Readonly<Record<Place, Readonly<Record<string, string>>>> = {
  fastify: { dev: `${forDevelopment} src/server.ts`, start: "node src/server.ts" },
  express: { dev: `${forDevelopment} src/server.ts`, start: "node src/server.ts" },
  hono: { dev: `${forDevelopment} src/server.ts`, start: "node src/server.ts" },
  next: { dev: "next dev", build: "next build", start: "next start" },
  nest: { dev: `tsc && ${forDevelopment} dist/src/main.js`, build: "tsc", start: "node dist/src/main.js" },
  host: { dev: `${withSettings} ${command} dev`, start: "quotewire serve" }
}

/** The Quotewire packages that a project needs: packages needed at run time, and packages that only its tests need. */
const ownPackages = ({ docker, place, receiver }: Choices) => {
  const isHost = place === "host"
  const run = [
    ...(isHost || docker ? ["cli"] : []),
    "core",
    ...(isHost && !receiver ? [] : ["http"]),
    ...(isHost ? [] : ["mcp", "storage-memory"]),
    ...(docker && !isHost ? ["storage-pg"] : [])
  ]
  return { run, test: isHost ? ["storage-memory"] : [] }
}

const sorted = (record: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))

/**
 * The `package.json` of a new project. All versions are exact; Quotewire packages have the same version as the command.
 */
export const manifestOf = (name: string, choices: Choices, version: string) => {
  const { place } = choices
  const words = wordsOf(choices)
  const packageNames = ownPackages(choices)
  const named = (names: ReadonlyArray<string>) =>
    names.map((packageName) => [`@quotewire/${packageName}`, version] as const)
  const pinned = (names: ReadonlyArray<Package>) =>
    names.map((packageName) => [packageName, versions[packageName]] as const)
  const needsOlder = place === "nest" || place === "next"
  return {
    name,
    private: true,
    type: "module",
    engines: { node: ">=22.19.0" },
    scripts: {
      ...starts[place],
      ...((words.has("json") || words.has("xml")) && { carrier: "node practice/main.ts" }),
      ...(choices.receiver && { receiver: `${withSettings} receiver/main.ts` }),
      test: 'node --test "test/**/*.test.ts"',
      check: "tsc --noEmit"
    },
    dependencies: sorted(Object.fromEntries([...named(packageNames.run), ...pinned(["effect", ...frameworks[place]])])),
    devDependencies: sorted({
      ...Object.fromEntries([...named(packageNames.test), ...pinned(["@types/node", ...typings[place]])]),
      typescript: needsOlder ? olderTypescript : versions.typescript
    })
  }
}

/** The command that starts the program in a container. It does not use npm, so that the program receives signals. */
export const containerCommand = (place: Place): string => {
  const programs: Readonly<Record<Place, ReadonlyArray<string>>> = {
    fastify: ["src/server.ts"],
    express: ["src/server.ts"],
    hono: ["src/server.ts"],
    next: ["node_modules/next/dist/bin/next", "start"],
    nest: ["dist/src/main.js"],
    host: [command, "serve", "--migrate"]
  }
  return JSON.stringify(["node", ...programs[place]]).replaceAll(",", ", ")
}
