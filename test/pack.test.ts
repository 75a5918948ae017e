import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { templates } from "../packages/cli/src/create/Layout.ts"
import { migrations } from "../packages/storage-pg/src/migrations/migrations.ts"
import { publintFindings, typeFindings } from "../scripts/release/lint.ts"
import { installedFor, type Locked } from "../scripts/release/lockedTree.ts"
import { entryPoints, manifest, packages, read, root, sources } from "./support/sources.ts"
import { emptyDatabase } from "./support/TestDatabase.ts"

/*
 * The published packages work without the repository: every package is built and packed from a clean copy of its
 * sources, and unpacked beside a small program. Nothing is downloaded: third-party packages are linked from
 * node_modules.
 */

const temporary = mkdtempSync(join(tmpdir(), "quotewire-pack-"))
const tree = join(temporary, "tree")
const tarballs = join(temporary, "tarballs")
const app = join(temporary, "app")

// Variables that npm sets for its scripts are not meant for the npm in this test.
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)))

const run = (folder: string, command: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(command, args, { cwd: folder, env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

const node = (...args: ReadonlyArray<string>) => run(app, process.execPath, ...args)
const compiler = join(root, "node_modules/typescript/bin/tsc")
const tsc = (folder: string, ...args: ReadonlyArray<string>) => run(folder, process.execPath, compiler, ...args)

/** Links third-party packages into a folder's node_modules. */
const linkOthers = (folder: string): void => {
  const modules = join(folder, "node_modules")
  mkdirSync(join(modules, "@quotewire"), { recursive: true })
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name === "@quotewire" || name.startsWith(".")) continue
    symlinkSync(join(root, "node_modules", name), join(modules, name))
  }
}

const build = (): void => {
  linkOthers(tree)
  for (const file of ["tsconfig.json", "tsconfig.base.json"]) cpSync(join(root, file), join(tree, file))
  for (const name of packages) {
    const folder = join("packages", name)
    for (const part of readdirSync(join(root, folder))) {
      if (["dist", "node_modules", "test"].includes(part)) continue
      cpSync(join(root, folder, part), join(tree, folder, part), { recursive: true })
    }
    symlinkSync(join(tree, folder), join(tree, "node_modules/@quotewire", name))
  }
  for (const script of readdirSync(join(root, "scripts")).filter((path) => path.endsWith(".ts")))
    cpSync(join(root, "scripts", script), join(tree, "scripts", script))
  tsc(tree, "-b")
  for (const script of ["console.ts", "bundle.ts", "fieldComments.ts", "vendor.ts"])
    run(tree, process.execPath, join("scripts", script))
}

/** The bundles of all packages in the working tree, by path. */
const bundles = (): ReadonlyMap<string, string> => {
  const paths = packages.flatMap((name) =>
    readdirSync(join(tree, "packages", name, "dist/bundle")).map((path) => join("packages", name, "dist/bundle", path))
  )
  assert.isNotEmpty(paths)
  return new Map(paths.map((path) => [path, readFileSync(join(tree, path), "utf8")]))
}

/** What the build downloads into `packages/http` once. */
const vendored = ["vendor/scalar/standalone.js", "vendor/scalar/version.json"]

/** The console that the build puts into `packages/http`. */
const ofConsole = ["dist/console/console.js", "dist/console/console.css"]

const files = new Map<string, ReadonlyArray<string>>()

interface Packed {
  readonly name: string
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string }>
}

/** Packs all packages, and unpacks each beside the program. */
const install = (): void => {
  const folders = packages.map((name) => `./packages/${name}`)
  const output = run(tree, "npm", "pack", ...folders, "--json", "--ignore-scripts", "--pack-destination", tarballs)
  const packed: ReadonlyArray<Packed> = JSON.parse(output)
  for (const { filename, files: all, name } of packed) {
    const into = join(app, "node_modules", name)
    mkdirSync(into)
    run(app, "tar", "-xzf", join(tarballs, filename), "--strip-components=1", "-C", into)
    files.set(
      name.replace("@quotewire/", ""),
      all.map(({ path }) => path)
    )
  }
}

const tarball = (name: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(join(tarballs, `quotewire-${name}-${manifest(`packages/${name}`).version}.tgz`)))

beforeAll(() => {
  for (const folder of [tree, tarballs, app]) mkdirSync(folder)
  build()
  linkOthers(app)
  writeFileSync(join(app, "package.json"), JSON.stringify({ private: true, type: "module" }))
  install()
}, 180_000)

afterAll(() => rmSync(temporary, { recursive: true, force: true }))

const specifiers = packages.flatMap(entryPoints)

describe("published packages", () => {
  it.each(packages)("%s contains exactly the expected files", (name) => {
    const held = files.get(name) ?? []
    const wanted = ["LICENSE", "package.json"]
    if (existsSync(join(root, "packages", name, "README.md"))) wanted.push("README.md")
    if (name === "cli") wanted.push(...templates.map((template) => `templates/${template}`))
    if (name === "http") wanted.push("vendor/scalar/LICENSE", ...vendored, ...ofConsole)
    for (const { path } of sources(`packages/${name}/src`, ".ts")) {
      // Bundled into one page.
      if (path.includes("/views/card/")) continue
      wanted.push(path.replace(`packages/${name}/src/`, "dist/").replace(/\.ts$/, ".d.ts"))
    }
    wanted.push(...held.filter((path) => /^dist\/bundle\/[\w-]+\.js$/.test(path)))
    for (const program of Object.values(manifest(`packages/${name}`).bin ?? {})) wanted.push(program.replace("./", ""))
    assert.sameMembers([...held], wanted)
  })

  it.each(packages)("%s contains the license", (name) => {
    assert.strictEqual(read(`packages/${name}/LICENSE`).text, read("LICENSE").text)
  })

  it.each(packages)("%s has the common version, and requires that version of other Quotewire packages", (name) => {
    const { version, dependencies } = manifest(`packages/${name}`)
    assert.strictEqual(version, manifest("packages/core").version)
    for (const [other, asked] of Object.entries(dependencies ?? {})) {
      if (other.startsWith("@quotewire/")) assert.strictEqual(asked, version, other)
    }
  })

  it("can be imported and required, with the same exports", () => {
    const load = (file: string, how: string) => {
      const each = specifiers.map((name) => `[${JSON.stringify(name)}]: Object.keys(${how}(${JSON.stringify(name)}))`)
      writeFileSync(join(app, file), `console.log(JSON.stringify({ ${each.join(", ")} }))`)
      return JSON.parse(node(file))
    }
    const imported = load("imported.mjs", "await import")
    const required = load("required.cjs", "require")
    for (const specifier of specifiers) {
      assert.isNotEmpty(imported[specifier], specifier)
      // Node adds one name for programs that were compiled to CommonJS.
      assert.sameMembers(
        required[specifier].filter((name: string) => name !== "__esModule"),
        imported[specifier],
        specifier
      )
    }
  })

  it.each(packages)("%s exports only files that exist", (name) => {
    for (const entry of Object.values(manifest(`packages/${name}`).exports ?? {})) {
      for (const file of typeof entry === "string" ? [entry] : Object.values(entry)) {
        assert.include(["package.json", ...(files.get(name) ?? [])], file.replace("./", ""))
      }
    }
  })
})

describe("package manifests", () => {
  it.each(packages)("%s passes publint without errors", async (name) => {
    assert.deepStrictEqual(await publintFindings(tarball(name)), [])
  })

  it.each(packages)("%s has valid types for every entry point", async (name) => {
    const found = await typeFindings(tarball(name))
    assert.deepStrictEqual(found.problems, [])
    for (const specifier of entryPoints(name)) {
      assert.include(found.entryPoints, specifier.replace(`@quotewire/${name}`, "."))
    }
  })
})

describe("the build", () => {
  const index = /^(?:import|export)\b[^"]*"(?:effect|@effect\/[a-z-]+)(?:\/[a-z-]+)?"/m

  it("imports Effect's individual modules, never an Effect index", () => {
    for (const [path, text] of bundles()) assert.notMatch(text, index, path)
  })

  it("produces the same bundles each time", () => {
    const before = bundles()
    run(tree, process.execPath, "scripts/bundle.ts")
    assert.deepStrictEqual(bundles(), before)
  })
})

/** What npm would install for a package of this repository, by its place in the lockfile. */
const installed = (name: string): ReadonlyMap<string, Locked> =>
  installedFor(JSON.parse(read("package-lock.json").text).packages, name)

/** The bytes that a package takes on the disk, without the packages inside it. */
const diskOf = (path: string): number => {
  const about = statSync(path)
  const inside = about.isDirectory() ? readdirSync(path).filter((name) => name !== "node_modules") : []
  return inside.reduce((sum, name) => sum + diskOf(join(path, name)), about.blocks * 512)
}

describe("package dependencies", () => {
  it.each(packages)("%s needs no package with install scripts", (name) => {
    const all = installed(name)
    assert.isTrue(all.has("node_modules/effect"))
    const running = [...all].filter(([, entry]) => entry.hasInstallScript === true).map(([place]) => place)
    assert.deepStrictEqual(running, [])
  })

  it("the command needs at most 40 third-party packages", () => {
    const others = [...installed("cli").keys()].filter(
      (place) => place.startsWith("node_modules/") && !place.startsWith("node_modules/@quotewire/")
    )
    assert.isAtMost(others.length, 40, others.join("\n"))
  })

  it("the command and its dependencies take less than 150 MB on disk", () => {
    const places = [...installed("cli").keys()].filter((place) => place.startsWith("node_modules/"))
    const sizes = places.map((place) => [diskOf(join(app, place)), place] as const)
    const total_MB = sizes.reduce((sum, [bytes]) => sum + bytes, 0) / 1e6
    assert.isBelow(total_MB, 150, sizes.map(([bytes, place]) => `${(bytes / 1e6).toFixed(1)} ${place}`).join("\n"))
  })
})

describe("a program on published packages", () => {
  it("runs the README's example", () => {
    cpSync(join(root, "examples/embed.ts"), join(app, "embed.ts"))
    assert.include(node("embed.ts"), "Lanternway Renters (sandbox)")
  })

  it("type-checks against the published types", () => {
    cpSync(join(root, "examples"), join(app, "examples"), { recursive: true })
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      lib: ["es2024", "esnext.disposable", "dom"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      types: ["node"],
      skipLibCheck: false
    }
    // A separate test makes and checks the clients of generators. The outbox needs packages that the app does not have.
    const exclude = ["generators", "frameworks/nest", "frameworks/next", "outbox"].map((name) => `examples/${name}`)
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["examples"], exclude }))
    assert.strictEqual(tsc(app, "-p", "."), "")
    // Verifies that the check can fail.
    writeFileSync(join(app, "examples/wrong.ts"), 'import { embed } from "@quotewire/core"\nembed({ storage: 1 })\n')
    writeFileSync(
      join(app, "wrong.json"),
      JSON.stringify({ extends: "./tsconfig.json", include: ["examples/wrong.ts"] })
    )
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", "wrong.json"], { cwd: app, encoding: "utf8" })
    assert.match(stdout, /^examples\/wrong\.ts\(2,\d+\): error /m)
  }, 120_000)

  it("runs and type-checks as CommonJS", () => {
    const folder = join(app, "commonjs")
    mkdirSync(folder)
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "commonjs" }))
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      strict: true,
      types: [],
      outDir: "out",
      skipLibCheck: true
    }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
    writeFileSync(
      join(folder, "program.ts"),
      `import { embed } from "@quotewire/core"
      import { MemoryStorage } from "@quotewire/storage-memory"
      ${specifiers.map((specifier, i) => `import all${i} = require("${specifier}")\nvoid all${i}`).join("\n")}
      const quotewire = embed({ storage: MemoryStorage.layer })
      const told = quotewire.createOrganization("Acme").then(({ id }) => console.log(id.slice(0, 4)))
      void told.then(() => quotewire.close())`
    )
    assert.strictEqual(tsc(folder, "-p", "."), "")
    assert.include(readFileSync(join(folder, "out/program.js"), "utf8"), 'require("@quotewire/core")')
    assert.strictEqual(node(join(folder, "out/program.js")).trim(), "org_")
  })

  it("migrates and opens a PostgreSQL database with the published SQL", async () => {
    const database = await emptyDatabase()
    try {
      writeFileSync(
        join(app, "migrate.ts"),
        `import { PgStorage } from "@quotewire/storage-pg"
        import { Effect, Layer, Redacted } from "effect"
        const options = { url: Redacted.make(process.argv[2] ?? "") }
        const open = Effect.scoped(Layer.build(PgStorage.layer(options)))
        const names = await Effect.runPromise(Effect.tap(PgStorage.migrate(options), open))
        console.log(names.join())`
      )
      assert.strictEqual(node("migrate.ts", database.url).trim(), migrations.map(({ name }) => name).join())
    } finally {
      await database.drop()
    }
  })

  it("can run the command", () => {
    for (const path of Object.values(manifest("packages/cli").bin ?? {}))
      assert.match(read(join("packages/cli", path)).text, /^#!\/usr\/bin\/env node\n/, path)
    const program = join(app, "node_modules/@quotewire/cli", manifest("packages/cli").bin?.quotewire ?? "")
    assert.isTrue(dirname(program).startsWith(app))
    assert.include(node(program, "--version"), manifest("packages/cli").version ?? "no version")
  })

  it("serves the API reference with the packaged script", async () => {
    const program = join(app, "node_modules/@quotewire/cli", manifest("packages/cli").bin?.quotewire ?? "")
    const host = spawn(process.execPath, [program, "dev", "--port", "0", "--json"], { cwd: app, env: environment })
    try {
      const [line] = await once(host.stdout, "data")
      const { base_url } = JSON.parse(String(line))
      const page = await (await fetch(`${base_url}/docs`)).text()
      const [, address = ""] = /<script src="([^"]+standalone\.js)">/.exec(page) ?? []
      const script = await fetch(new URL(address, `${base_url}/docs`))
      assert.deepStrictEqual(
        [script.status, script.headers.get("content-type")],
        [200, "text/javascript; charset=utf-8"]
      )
      assert.include(await script.text(), "scalar")
    } finally {
      host.kill("SIGKILL")
    }
  })
})
