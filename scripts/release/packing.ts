import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { packages, root } from "../../test/support/sources.ts"
import { npm } from "../installPackages.ts"

/** The fields of a published `package.json` that a release uses. */
export interface ReleasedManifest {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly keywords?: ReadonlyArray<string>
  readonly license?: string
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string }
  readonly homepage?: string
  readonly bugs?: { readonly url: string }
  readonly type?: string
  readonly files?: ReadonlyArray<string>
  readonly bin?: Readonly<Record<string, string>>
  readonly engines?: Readonly<Record<string, string>>
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly publishConfig?: { readonly access?: string; readonly provenance?: boolean }
}

/** A package as it would be published. */
export interface Packed {
  readonly manifest: ReleasedManifest
  /** The contents of the package's files, by their paths in the package. */
  readonly files: ReadonlyMap<string, string>
  /** The file name of the package's tarball. */
  readonly tarball: string
  /** The hash of the tarball, in the format of lockfiles. */
  readonly integrity: string
  /** The size of the tarball, in bytes. */
  readonly size: number
  /** The total size of the package's files, in bytes. */
  readonly unpackedSize: number
}

/** A package that the release script writes itself: its manifest and its other files. */
export interface WrittenPackage {
  readonly manifest: ReleasedManifest
  readonly files: Readonly<Record<string, string>>
}

/**
 * The repository's address. It is in no file, so CI provides it. npm refuses provenance for a package that names a
 * different repository.
 */
export const repositoryOf = (environment: NodeJS.ProcessEnv): string | null => {
  const { GITHUB_REPOSITORY: name, GITHUB_SERVER_URL: server = "https://github.com" } = environment
  return name === undefined || name === "" ? null : `${server}/${name}`
}

/**
 * Adds the repository's address to a manifest. `folder` is the folder of the package's sources, relative to the
 * repository's root.
 */
export const withOrigin = (
  manifest: ReleasedManifest,
  repository: string | null,
  folder: string | null
): ReleasedManifest => {
  if (repository === null) return manifest
  const tree = `${repository}/tree/v${manifest.version}`
  return {
    ...manifest,
    repository: {
      type: "git",
      url: `git+${repository}.git`,
      ...(folder === null ? {} : { directory: folder })
    },
    homepage: `${folder === null ? tree : `${tree}/${folder}`}#readme`,
    bugs: { url: `${repository}/issues` }
  }
}

/** Creates a package with a name that people type. Its only command is implemented in `@quotewire/cli`. */
const unscoped = (
  cli: ReleasedManifest,
  { about, name, usage }: { readonly name: string; readonly about: string; readonly usage: string }
): WrittenPackage => {
  const { version, bin, engines, keywords, license, peerDependencies, peerDependenciesMeta, publishConfig } = cli
  const program = `bin/${name}.js`
  return {
    manifest: {
      name,
      version,
      description: about,
      ...(keywords === undefined ? {} : { keywords }),
      ...(license === undefined ? {} : { license }),
      type: "module",
      files: ["bin", "LICENSE", "README.md"],
      bin: { [name]: `./${program}` },
      ...(engines === undefined ? {} : { engines }),
      dependencies: { [cli.name]: version },
      ...(peerDependencies === undefined ? {} : { peerDependencies }),
      // Without this field, npm would install the command's optional peer dependencies.
      ...(peerDependenciesMeta === undefined ? {} : { peerDependenciesMeta }),
      ...(publishConfig === undefined ? {} : { publishConfig })
    },
    files: {
      [program]: `#!/usr/bin/env node
// Use no newer syntax here: an old Node must be able to parse it, so that ${cli.name} can say what it needs.
import { createRequire } from "module"
import { dirname, join } from "path"
import { pathToFileURL } from "url"
const manifest = createRequire(import.meta.url).resolve("${cli.name}/package.json")
import(pathToFileURL(join(dirname(manifest), "${bin?.[name] ?? ""}")).href)
`,
      "README.md": `# ${name}

${about} It needs Node 22.19 or newer.

\`\`\`sh
${usage}
\`\`\`

This package has only the command, which is in \`${cli.name}\`. Programs import \`@quotewire/core\`, \`@quotewire/http\` and the other
packages of the same version.
`
    }
  }
}

/** The packages with names that people type: `quotewire`, and `create-quotewire`, which `npm create quotewire` runs. */
export const unscopedPackages = (cli: ReleasedManifest): ReadonlyArray<WrittenPackage> => [
  unscoped(cli, {
    name: "quotewire",
    about: "The quotewire command: insurance quotes from many carriers, over REST and MCP.",
    usage: "npx quotewire dev   # a sandbox on http://127.0.0.1:8787, in memory; prints its keys"
  }),
  unscoped(cli, {
    name: "create-quotewire",
    about: "Writes a new Quotewire project, with its first tests.",
    usage: "npm create quotewire my-app   # asks where it runs"
  })
]

/**
 * Packs the existing build output of all packages, and the packages that the release script writes. `workFolder` is
 * an empty folder for copies.
 */
export const packAll = (workFolder: string, out: string, repository: string | null): ReadonlyArray<Packed> => {
  const copied = packages.map((name) => {
    const from = join(root, "packages", name)
    const to = join(workFolder, name)
    cpSync(from, to, {
      recursive: true,
      filter: (path) => !["node_modules", "src", "test"].some((part) => path === join(from, part))
    })
    const manifest: ReleasedManifest = JSON.parse(readFileSync(join(to, "package.json"), "utf8"))
    return pack(to, withOrigin(manifest, repository, `packages/${name}`), out)
  })
  const cli = copied.find(({ manifest }) => manifest.name === "@quotewire/cli")
  if (cli === undefined) return copied
  const written = unscopedPackages(cli.manifest).map(({ files, manifest }) => {
    const to = join(workFolder, manifest.name)
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(to, path)), { recursive: true })
      writeFileSync(join(to, path), text)
    }
    cpSync(join(root, "LICENSE"), join(to, "LICENSE"))
    return pack(to, withOrigin(manifest, repository, null), out)
  })
  return [...copied, ...written]
}

/** Writes a manifest into a folder and packs the folder. */
const pack = (folder: string, manifest: ReleasedManifest, out: string): Packed => {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  const [packed] = JSON.parse(npm(folder, "pack", "--json", "--ignore-scripts", "--pack-destination", out))
  const paths: ReadonlyArray<string> = packed.files.map((file: { readonly path: string }) => file.path)
  return {
    manifest,
    files: new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")])),
    tarball: packed.filename,
    integrity: packed.integrity,
    size: packed.size,
    unpackedSize: packed.unpackedSize
  }
}

/** Sorts the packages so that each comes after its dependencies. */
export const inDependencyOrder = (unsorted: ReadonlyArray<Packed>): ReadonlyArray<Packed> => {
  const ordered = new Set<Packed>()
  const visit = (packed: Packed): void => {
    if (ordered.has(packed)) return
    for (const name of Object.keys(packed.manifest.dependencies ?? {})) {
      const needed = unsorted.find(({ manifest }) => manifest.name === name)
      if (needed !== undefined) visit(needed)
    }
    ordered.add(packed)
  }
  for (const packed of unsorted) visit(packed)
  return [...ordered]
}
