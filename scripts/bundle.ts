import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import { effectModules } from "./effectModules.ts"
import { inlineSql } from "./inlineSql.ts"
import { pureStatements } from "./pureStatements.ts"

/*
 * Bundles the JavaScript of each package into a few files: `dist/bundle/` gets one file for each entry point, and files
 * that entry points share. Only these files are published, not the modules that the compiler writes to `dist/`. The
 * build runs this script after the compiler.
 *
 * The reason is that Node needs half a millisecond to find, read and compile a module, and the core has 350 modules
 * (docs/decisions/libraries.md).
 */

const root = new URL("../", import.meta.url)
const packages = new URL("packages/", root)

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: object
  readonly peerDependencies?: object
}

/**
 * Modules that get their own files although no program imports them by name. The files in `bin/` import the command's
 * modules. In http, the modules that import undici are kept apart, because a bundler keeps undici if a program uses
 * anything else in the same file.
 */
const apart: Readonly<Record<string, ReadonlyArray<string>>> = {
  "@quotewire/cli": ["main", "version"],
  "@quotewire/http": ["carriers/CarrierTransports", "webhooks/NodeWebhookSender", "node/nodeHandler"]
}

/**
 * The entry modules, by the names of their bundles. For `index` the module is `dist/index.js`; for another entry point,
 * such as `client`, it is `dist/client/index.js`.
 */
const entriesOf = ({ exports, name: packageName }: Manifest): Record<string, string> => {
  const bundles = Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? [] : basename(entry.default, ".js")
  )
  return Object.fromEntries([
    ...bundles.map((name) => [name, name === "index" ? "index.js" : `${name}/index.js`]),
    ...(apart[packageName] ?? []).map((path) => [basename(path), `${path}.js`])
  ])
}

/** The bundles of a package, by file name. */
const bundlesOf = async (manifest: Manifest, dist: URL): Promise<ReadonlyMap<string, string>> => {
  const installed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
  const bundler = await rolldown({
    cwd: fileURLToPath(root),
    input: Object.fromEntries(
      Object.entries(entriesOf(manifest)).map(([name, path]) => [name, fileURLToPath(new URL(path, dist))])
    ),
    platform: "node",
    external: (id) => id.startsWith("node:") || installed.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [effectModules, inlineSql, pureStatements],
    // The command's entry points may export more than their modules do, because only `bin/` imports them. Otherwise the
    // bundler would create additional files.
    preserveEntrySignatures: manifest.bin === undefined ? "strict" : "allow-extension",
    checks: { pluginTimings: false },
    onLog: (_, { message }) => {
      throw new Error(message)
    }
  })
  const { output } = await bundler.generate({
    format: "esm",
    // V8 needs half as much memory for code that is only ASCII.
    charset: "ascii",
    // All files are in one folder. Like the modules in `src/<room>/`, they find the package's folder at `../../`.
    entryFileNames: "[name].js",
    chunkFileNames: ({ isDynamicEntry, moduleIds }) =>
      isDynamicEntry || moduleIds.length === 1 ? "[name].js" : "shared.js",
    minifyInternalExports: false,
    // Drops documentation comments, because the types contain them.
    comments: { legal: false, jsdoc: false, annotation: true }
  })
  await bundler.close()
  return new Map(output.map((file) => [file.fileName, file.type === "chunk" ? file.code : String(file.source)]))
}

/** Writes the files that have changed, and removes files that the build no longer creates. */
const write = (files: ReadonlyMap<string, string>, folder: URL): void => {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(new URL(name, folder))
  for (const [name, text] of files) {
    const file = new URL(name, folder)
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text)
  }
}

for (const name of readdirSync(packages)) {
  const folder = new URL(`${name}/`, packages)
  const dist = new URL("dist/", folder)
  const manifest: Manifest = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"))
  write(await bundlesOf(manifest, dist), new URL("bundle/", dist))
}
