import { assert, describe, it } from "@effect/vitest"
import { effectful } from "./support/effectful.ts"
import { finding, holds, without } from "./support/findings.ts"
import { manifest, packages, read, type Source, sources } from "./support/sources.ts"
import { declarationsOf, statementsOf, valuesIn } from "./support/values.ts"

/*
 * Which modules may import which, checked against the sources. ARCHITECTURE.md gives the reasons.
 */

const srcOf = (name: string) => sources(`packages/${name}/src`, ".ts")
const core = srcOf("core").filter((source) => !source.path.startsWith("packages/core/src/testing/"))
const inCore = (path: string) => path.replace("packages/core/src/", "")

describe("packages", () => {
  const allowed: Readonly<Record<string, ReadonlyArray<string>>> = {
    core: [],
    "storage-memory": ["core"],
    "storage-pg": ["core"],
    http: ["core"],
    mcp: ["core"],
    cli: ["core", "http", "mcp", "storage-memory", "storage-pg"]
  }
  const packageOf = (specifier: string) =>
    specifier
      .split("/")
      .slice(0, specifier.startsWith("@") ? 2 : 1)
      .join("/")

  it("import each other in one direction: cli -> http, mcp, storage backends -> core", () => {
    assert.sameMembers([...packages], Object.keys(allowed))
    holds(
      packages.flatMap((name) => {
        const mayImport = (allowed[name] ?? []).map((other) => `@quotewire/${other}`)
        const imported = srcOf(name).flatMap(({ path, imports }) =>
          imports.map(({ specifier }) => ({ at: path, to: packageOf(specifier) }))
        )
        const declared = Object.keys(manifest(`packages/${name}`).dependencies ?? {}).map((to) => ({
          at: `packages/${name}/package.json`,
          to
        }))
        return [...imported, ...declared]
          .filter(({ to }) => to.startsWith("@quotewire/"))
          .map(({ at, to }) => finding(at, mayImport.includes(to), `must not import ${to}`))
      })
    )
  })

  it("have no side effects on import", () => {
    const libraries = packages.filter((name) => name !== "cli")
    holds(libraries.flatMap((name) => without(srcOf(name), /^import "[^"]+"/gm, "text")))
    holds(
      libraries.map((name) => {
        const { sideEffects } = JSON.parse(read(`packages/${name}/package.json`).text)
        return finding(name, sideEffects === false, "must have no side effects")
      })
    )
  })

  it("import only declared dependencies", () => {
    holds(
      packages.flatMap((name) => {
        const { dependencies, peerDependencies } = manifest(`packages/${name}`)
        const declared = Object.keys({ ...dependencies, ...peerDependencies })
        return srcOf(name).flatMap(({ path, imports }) =>
          imports
            .filter(({ specifier }) => !specifier.startsWith(".") && !specifier.startsWith("node:"))
            .map(({ specifier }) =>
              finding(path, declared.includes(packageOf(specifier)), `${specifier} is not declared`)
            )
        )
      })
    )
  })

  it("do not import another package's files", () => {
    holds(
      packages.flatMap((name) =>
        srcOf(name).flatMap(({ path, imports }) =>
          imports.map(({ specifier, target }) =>
            finding(
              path,
              target === null
                ? !/^@quotewire\/[^/]+\/(?!(?:cells|client|program|stdio|testing)$)/.test(specifier)
                : target.startsWith(`packages/${name}/src/`),
              `must not import ${specifier}`
            )
          )
        )
      )
    )
  })

  it("do not import test code, except to test carriers", () => {
    holds(
      packages.flatMap((name) =>
        srcOf(name)
          .filter(({ path }) => !/^packages\/(?:[^/]+\/src\/testing|cli\/src\/trials)\//.test(path))
          .flatMap(({ path, imports }) =>
            imports.map(({ specifier, target }) =>
              finding(path, !(target ?? specifier).includes("/testing"), `must not import ${specifier}`)
            )
          )
      )
    )
  })

  it("depend on exact versions, and the core depends only on effect", () => {
    const { dependencies = {}, peerDependencies = {} } = manifest("packages/core")
    assert.deepStrictEqual(Object.keys({ ...dependencies, ...peerDependencies }), ["effect"])
    holds(
      [".", ...packages.map((name) => `packages/${name}`)].flatMap((folder) => {
        const { dependencies, devDependencies } = manifest(folder)
        return Object.entries({ ...dependencies, ...devDependencies }).map(([name, version]) =>
          finding(
            `${folder}/package.json`,
            /^(?:npm:@?[\w/-]+@)?\d+\.\d+\.\d+(?:-(?:alpha|beta)\.\d+)?$/.test(version),
            `${name} ${version} is not an exact version`
          )
        )
      })
    )
  })
})

describe("the core", () => {
  it("imports no package except effect", () => {
    holds(
      core.flatMap(({ path, imports }) =>
        imports
          .filter(({ target }) => target === null)
          .map(({ specifier }) => finding(path, /^effect(\/|$)/.test(specifier), `must not import ${specifier}`))
      )
    )
  })

  it("gets time, randomness and output only from services, as storage backends do", () => {
    const ambient =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bset(?:Timeout|Interval|Immediate)\b|\bconsole\.|\bprocess\.|\bglobalThis\b/g
    const inMemory = srcOf("storage-memory").filter(({ path }) => !path.includes("/src/testing/"))
    holds(without([...core, ...inMemory, ...srcOf("storage-pg")], ambient))
  })
})

/** Services by the names of their classes, with the modules that define them. */
const services = new Map(
  core.flatMap(({ path, code }) =>
    Array.from(code.matchAll(/class (\w+) extends Context\.Service/g), ([, name = ""]) => [name, path] as const)
  )
)
const serviceFiles = new Set(services.values())
const servicesIn = (file: string) => [...services].filter(([, path]) => path === file).map(([name]) => name)

describe("core modules", () => {
  const runtime =
    /^(?:\*|Effect|Layer|Context|Clock|Random|Scope|Exit|Cause|Ref|Queue|Deferred|Stream|ManagedRuntime|Fiber\w*)$/

  /** What connects services to each other, and to callers. */
  const wiring = [
    ...["index", "program/index", "kinds", "Quotewire", "hostApi", "operations"],
    ...["embedding/administration", "embedding/embed", "embedding/makeOperators", "embedding/serviceLayer"],
    "calls/Pipeline",
    ...["feedback/FeedbackOperations", "calls/RequestLogOperations", "webhooks/WebhookOperations"],
    ...["timeline/TimelineOperations", "partners/PartnerLinkOperations"],
    ...["operators/OperatorCalls", "operators/OrganizationOperations", "operators/QuoteRequestOperations"],
    ...["Audit", "Carrier", "Consumer", "Erasure", "Recovery", "Sharing", "Work"].map(
      (name) => `operators/${name}Operations`
    )
  ].map((name) => `packages/core/src/${name}.ts`)

  const nameOf = (path: string) => inCore(path).replace(/\.ts$/, "")
  const runs = (name: string) => runtime.test(name) || services.has(name)

  /** A module that makes a part of a service. */
  const isPart = ({ code }: Source) => /^export const make = Effect\./m.test(code)

  /** What a part exports besides its `make` functions, and the effects and services that this uses. */
  const besidesMake = (source: Source) =>
    declarationsOf(source)
      .filter(({ isExported, name }) => isExported && !name.startsWith("make"))
      .map(({ name, values }) => ({ name: `${nameOf(source.path)}.${name}`, used: [...values].filter(runs) }))

  it("run no effects and use no services, except for the modules in test/support/effectful.ts", () => {
    const others = core.filter(({ path }) => !serviceFiles.has(path) && !wiring.includes(path))
    const checkedAsWhole = (source: Source) => !isPart(source) || source.path.endsWith("Rules.ts")
    const whole = others.filter(checkedAsWhole).map(({ path, imports }) => ({
      name: nameOf(path),
      used: imports.flatMap(({ target, values, types }) =>
        target === null
          ? [...values, ...types].filter((imported) => runtime.test(imported))
          : values.filter((imported) => services.has(imported) || (imported === "*" && serviceFiles.has(target)))
      )
    }))
    const checked = [...whole, ...others.filter((source) => !checkedAsWhole(source)).flatMap(besidesMake)]
    const listed = Object.values(effectful).flatMap((names) => names.flatMap((line) => line.split(" ")))
    holds(
      checked.map(({ name, used }) =>
        finding(
          name,
          used.length === 0 || listed.includes(name),
          `must not use ${used.join(", ")}, unless test/support/effectful.ts lists it`
        )
      )
    )
    const needed = checked.filter(({ used }) => used.length > 0).map(({ name }) => name)
    assert.deepStrictEqual(
      listed.filter((name) => !needed.includes(name)),
      [],
      "Listed, but pure or gone"
    )
  })

  it("refer to services only in `make` functions, unless they define a service", () => {
    const others = core.filter(({ path }) => !serviceFiles.has(path) && !wiring.includes(path))
    const uses = others.flatMap((source) =>
      isPart(source)
        ? besidesMake(source)
        : [{ name: nameOf(source.path), used: source.imports.flatMap(({ values }) => values) }]
    )
    holds(
      uses.map(({ name, used }) => {
        const found = used.filter((imported) => services.has(imported))
        return finding(name, found.length === 0, `must take ${found.join(", ")} as an argument`)
      })
    )
  })

  it("do not import each other's services, except as listed", () => {
    // What every service may use: ports, and services that know nothing about quoting except calls to carriers.
    const ground = [
      "wire/Ids access/sealing/Seal access/Workspaces calls/Revision carriers/Carrier",
      "carriers/CarrierClient carriers/Connections storage/Storage storage/Hints webhooks/WebhookSender",
      // What calls to a carrier share: the load of an ask, and the record of an exchange.
      "carriers/recorder/Recorder quoting/asking/PendingAsks"
    ].flatMap((line) => line.split(" "))
    const edges = [
      // Advancing a sandbox's clock runs due jobs and erases expired data.
      "sandbox/Sandbox -> runner/Runner",
      "sandbox/Sandbox -> runner/Retention",
      // A runner knows jobs only through their handlers.
      "runner/Runner -> runner/Handlers",
      // Asking carriers is one service in three parts.
      "quoting/asking/Asking -> quoting/asking/AskJobs",
      "quoting/asking/Asking -> quoting/asking/CarrierReferences",
      "quoting/asking/AskJobs -> quoting/asking/CarrierReferences",
      // Test events and replays have a separate limit, counted where all others are.
      "webhooks/deliveries/Deliveries -> access/limits/Allowance",
      // Only seals use the platform's text encryption.
      "access/sealing/Seal -> access/sealing/TextCrypto"
    ]
    const found = core
      .filter(({ path }) => serviceFiles.has(path))
      .flatMap(({ path, imports }) =>
        imports.flatMap(({ target }) =>
          target !== null && serviceFiles.has(target) ? [{ from: nameOf(path), to: nameOf(target) }] : []
        )
      )
    holds(
      found.map(({ from, to }) =>
        finding(from, ground.includes(to) || edges.includes(`${from} -> ${to}`), `must not import ${to}`)
      )
    )
    const used = new Set(found.flatMap(({ from, to }) => [`${from} -> ${to}`, to]))
    assert.deepStrictEqual(
      [...ground, ...edges].filter((name) => !used.has(name)),
      [],
      "Allowed, but not needed any more"
    )
  })
})

describe("host packages", () => {
  /** What the core exports, by the title of the group: the comment above a group begins with it. */
  const groups = new Map(
    read("packages/core/src/index.ts")
      .text.split(/^\/\* (?=[A-Z])/m)
      .slice(1)
      .map((group) => {
        const exported = Array.from(
          group.matchAll(/^export (?:type )?(?:\* as (\w+)|\{([^}]*)\}) from "\.\/([^"]+)"/gm),
          ([, namespace, names = "", path]) => {
            const services = servicesIn(`packages/core/src/${path}`)
            return namespace === undefined
              ? { names: names.split(",").map((name) => name.trim().replace("type ", "")), services }
              : { names: [namespace], services: services.map((name) => `${namespace}.${name}`) }
          }
        )
        return [/^[^:,.]+/.exec(group)?.[0] ?? "", exported] as const
      })
  )
  const namesIn = (...titles: ReadonlyArray<string>) =>
    titles.flatMap((title) => (groups.get(title) ?? []).flatMap(({ names }) => names))
  const exportedServices = [...groups.values()].flat().flatMap((one) => one.services)

  const forHosts = [
    ...namesIn("Calling operations", "Insurance lines", "For hosts"),
    ...["Caller", "Quotewire", "Revision", "operations"]
  ]
  /** The services that a host may use: ports that it implements, and the service that makes request IDs. */
  const ports = { http: ["Ids.Ids", "TextCrypto.TextCrypto", "WebhookSender.WebhookSender"], mcp: ["Ids.Ids"] }
  const mayImport = {
    http: [
      ...[...forHosts, "Allowance", "BoundedMap", "Event", "operatorOperations"],
      ...["CarrierConnections", "CarrierTransport", "TextCrypto", "WebhookSender", "WholeAnswers"]
    ],
    mcp: forHosts,
    // A program: it makes the service from the parts, and its commands for operators use services.
    cli: [
      ...namesIn(...[...groups.keys()].filter((title) => title !== "For storage backends")),
      ...["Fault", "Monotonic", "SealKeysInUse"]
    ]
  }
  const hosts = Object.keys(mayImport).flatMap(srcOf)

  it("import only values that the core exports for hosts or that this test lists", () => {
    assert.isAbove(groups.size, 10)
    holds(
      Object.entries(mayImport).flatMap(([name, names]) =>
        srcOf(name).flatMap(({ path, imports }) =>
          imports
            .filter(({ specifier }) => specifier === "@quotewire/core")
            .map(({ values }) => {
              const others = values.filter((imported) => !names.includes(imported))
              return finding(path, others.length === 0, `must not import ${others.join(", ")}, except as types`)
            })
        )
      )
    )
  })

  it("use only the core services that they implement", () => {
    assert.isAbove(exportedServices.length, 20)
    holds(
      Object.entries(ports).flatMap(([name, allowed]) =>
        srcOf(name).map((source) => {
          const others = exportedServices.filter((service) => !allowed.includes(service))
          const used = valuesIn(statementsOf(source)).filter((value) => others.includes(value))
          return finding(source.path, used.length === 0, `must not use ${used.join(", ")}`)
        })
      )
    )
  })

  it("cannot call the storage", () => {
    holds(
      hosts.map((source) => {
        const isTaken = valuesIn(statementsOf(source)).includes("Storage.Storage")
        const isNamed = /\bStorage\["Service"\]|\btypeof Storage\.Storage\b/.test(source.code)
        return finding(source.path, !isTaken && !isNamed, "must not get at the storage's methods")
      })
    )
  })

  it("use no general HTTP headers in packages/mcp, except to call another host", () => {
    // Except for the client of another host, which must use HTTP.
    const endpoint = srcOf("mcp").filter(({ path }) => path !== "packages/mcp/src/serving/Bridge.ts")
    holds(
      without(
        endpoint,
        /\baccess-control-|(["'`])(?:authorization|content-type|content-encoding|origin|vary)\1/gi,
        "text"
      )
    )
  })

  it("use the core as a whole, never a single service's layer", () => {
    const layers = new Set(exportedServices.map((service) => `${service}.layer`))
    holds(
      hosts.map((source) => {
        const used = valuesIn(statementsOf(source)).filter((value) => layers.has(value))
        return finding(source.path, used.length === 0, `must not use ${used.join(", ")}`)
      })
    )
  })
})
