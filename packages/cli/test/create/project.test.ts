import { isBuiltin } from "node:module"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { manifest, read } from "../../../../test/support/sources.ts"
import type { Choices } from "../../src/create/Choices.ts"
import { templates } from "../../src/create/Layout.ts"
import { olderTypescript, versions } from "../../src/create/Manifest.ts"
import { packageNameOf } from "../../src/create/Project.ts"
import { render } from "../../src/create/Template.ts"
import { version } from "../../src/version.ts"
import { allChoices, nameOf, projectOf, templateOf } from "../support/projects.ts"

const projects = allChoices.map((choices) => ({ choices, name: nameOf(choices), files: projectOf(choices) }))

const textOf = (files: ReturnType<typeof projectOf>, path: string): string =>
  files.find((file) => file.path === path)?.text ?? assert.fail(`there is no ${path}`)

const packageNameIn = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

const specifiersIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/(?:\bfrom |\bimport |\bimport\()"([^"]+)"/g), ([, specifier = ""]) => specifier)

describe("a new project", () => {
  it("has unique file paths, all inside its folder", () => {
    for (const { files, name } of projects) {
      const paths = files.map(({ path }) => path)
      assert.strictEqual(new Set(paths).size, paths.length, name)
      for (const path of paths) assert.notMatch(path, /^\/|\.\.(?:\/|$)|\\/, name)
    }
  })

  it("imports only its own files and packages that it pins to exact versions", () => {
    for (const { files, name } of projects) {
      const paths = new Set(files.map(({ path }) => path))
      const { dependencies, devDependencies } = JSON.parse(textOf(files, "package.json"))
      for (const one of Object.values({ ...dependencies, ...devDependencies })) {
        assert.match(String(one), /^\d+\.\d+\.\d+$/, name)
      }
      for (const { path, text } of files.filter((file) => file.path.endsWith(".ts"))) {
        // Tests and types may use development dependencies.
        const known = new Set(Object.keys({ ...dependencies, ...(/^test\//.test(path) && devDependencies) }))
        for (const specifier of specifiersIn(text)) {
          const where = `${name}: ${path} imports ${specifier}`
          if (!specifier.startsWith(".")) {
            const isOwn = known.has(packageNameIn(specifier))
            assert.isTrue(isOwn || isBuiltin(specifier), where)
            continue
          }
          const target = new URL(specifier, `file:///${path}`).pathname.slice(1)
          const decoded = decodeURIComponent(target)
          const candidates = [decoded, decoded.replace(/\.js$/, ".ts"), `${decoded}.ts`]
          assert.isTrue(
            candidates.some((candidate) => paths.has(candidate)),
            where
          )
        }
      }
    }
  })

  it("has no unused dependency", () => {
    // These are peers of the frameworks, or a command that is run and not imported.
    const unnamed = [
      "@nestjs/platform-express",
      "reflect-metadata",
      "rxjs",
      "next",
      "react",
      "react-dom",
      "@quotewire/cli"
    ]
    for (const { files, name } of projects) {
      const { dependencies } = JSON.parse(textOf(files, "package.json"))
      const used = new Set([
        ...unnamed,
        ...files.flatMap(({ text }) => specifiersIn(text).map(packageNameIn)),
        "effect"
      ])
      for (const one of Object.keys(dependencies)) assert.isTrue(used.has(one), `${name}: ${one}`)
    }
  })

  it("has no template markers and no secrets, and its README fits one page", () => {
    for (const { files, name } of projects) {
      for (const { path, text } of files) {
        assert.notMatch(text, /\{\{|(?:\/\/|#|<!--)\?/, `${name}: ${path}`)
        assert.notMatch(text, /(?:sandbox|live)_(?:server|widget|platform)_\w/, `${name}: ${path}`)
        assert.isTrue(text.endsWith("\n") && !text.endsWith("\n\n"), `${name}: ${path}`)
      }
      assert.match(textOf(files, ".env.example"), name.endsWith("docker") ? /^QUOTEWIRE_SEAL_KEYS=$/m : /^/, name)
      assert.isAtMost(textOf(files, "README.md").split("\n").length, 85, name)
    }
  })

  it("mentions only its own scripts and files in its README", () => {
    for (const { files, name } of projects) {
      const { scripts } = JSON.parse(textOf(files, "package.json"))
      const readme = textOf(files, "README.md")
      const named = Array.from(readme.matchAll(/npm run (\w+)/g), ([, script = ""]) => script)
      const listed = Array.from(readme.matchAll(/^- `([^`]+)`/gm), ([, path = ""]) => path)
      assert.isNotEmpty(named, name)
      assert.isNotEmpty(listed, name)
      for (const script of named) assert.property(scripts, script, name)
      for (const path of listed) {
        assert.isTrue(
          files.some((file) => file.path.startsWith(path)),
          `${name}: ${path}`
        )
      }
    }
  })

  it("has a valid compose.yaml and valid JSON files", () => {
    for (const { files, name } of projects) {
      for (const { path, text } of files) {
        if (path.endsWith(".json")) assert.isObject(JSON.parse(text), `${name}: ${path}`)
        if (path.endsWith(".yaml")) assert.hasAllKeys(parse(text).services, ["postgres", "service"], name)
      }
      assert.strictEqual(
        files.some(({ path }) => path === "compose.yaml"),
        name.endsWith("docker"),
        name
      )
    }
  })

  it("has the chosen name and the current version", () => {
    const choices: Choices = { place: "host", carrier: "none", line: false, receiver: false, docker: false }
    const { dependencies, name } = JSON.parse(textOf(projectOf(choices), "package.json"))
    assert.strictEqual(name, "host-none")
    assert.deepStrictEqual(dependencies, {
      "@quotewire/cli": version,
      "@quotewire/core": version,
      effect: versions.effect
    })
    assert.deepStrictEqual(["My Shop!", "…", "@acme/shop"].map(packageNameOf), [
      "my-shop",
      "quotewire-app",
      "acme-shop"
    ])
  })
})

describe("the dependencies of new projects", () => {
  it("match the versions that this repository is tested with", () => {
    const next = manifest("test/frameworks/next").dependencies ?? {}
    const nest = manifest("test/frameworks").devDependencies ?? {}
    const { typescript: older, ...nestWithout } = nest
    assert.strictEqual(olderTypescript, older)
    const tested = { ...nestWithout, ...next, ...manifest(".").devDependencies }
    for (const [name, asked] of Object.entries(versions)) assert.strictEqual(asked, tested[name], name)
  })
})

describe("a template", () => {
  it("equals the example that it is made from, and contains no paths into this repository", () => {
    for (const template of templates) {
      const text = templateOf(template)
      assert.notMatch(text, /\$schema": "\.\.|\.\.\/packages\//, template)
      if (!template.startsWith("examples/") || template.endsWith(".json")) continue
      assert.strictEqual(text, read(template).text, template)
    }
  })

  it("keeps the lines whose conditions hold, and fills in values", () => {
    const words = new Set(["json", "docker"])
    const text = [
      "all {{name}}",
      "one //? json|xml",
      "none #? xml",
      "not <!--? !docker -->",
      "both //? json docker",
      "//? line",
      "in a block",
      "//?",
      "after"
    ].join("\n")
    assert.strictEqual(render(text, words, { name: "shop" }), "all shop\none\nboth\nafter")
    assert.throws(() => render("x //? docker2", words, {}), /no choice named docker2/)
    assert.throws(() => render("{{nothing}}", words, {}), /no value named nothing/)
  })
})
