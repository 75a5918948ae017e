import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import { parse } from "yaml"
import { read, root, sources } from "./support/sources.ts"

/*
 * Checks the CI workflows as far as possible without running them: their form, their permissions, and that the
 * scripts they start exist.
 */

interface Step {
  readonly uses?: string
  readonly run?: string
}

interface Job {
  readonly needs?: string | ReadonlyArray<string>
  readonly permissions?: Readonly<Record<string, string>>
  readonly strategy?: { readonly matrix: Readonly<Record<string, ReadonlyArray<number>>> }
  readonly steps: ReadonlyArray<Step>
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

const object = (properties: Readonly<Record<string, unknown>>, ...required: ReadonlyArray<string>) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false
})
const mapOf = (additionalProperties: unknown) => ({ type: "object", minProperties: 1, additionalProperties })
const text = { type: "string", minLength: 1 }
const texts = { type: "array", items: text, minItems: 1 }
const scalar = { type: ["string", "number", "boolean"] }
const permissions = mapOf({ enum: ["none", "read", "write"] })

const step = {
  oneOf: [
    object({ name: text, uses: text, with: mapOf(scalar), env: mapOf(scalar) }, "uses"),
    object({ name: text, run: text, env: mapOf(scalar) }, "run")
  ]
}

/** The parts of a workflow that are checked. A job without a time limit could run for six hours. */
const workflowSchema = object(
  {
    name: text,
    on: mapOf({ anyOf: [{ type: "null" }, object({ branches: texts, tags: texts })] }),
    permissions,
    concurrency: object({ group: text, "cancel-in-progress": { type: "boolean" } }, "group"),
    jobs: mapOf(
      object(
        {
          name: text,
          needs: { anyOf: [text, texts] },
          "runs-on": { type: "string", pattern: "^ubuntu-\\d\\d\\.04$" },
          "timeout-minutes": { type: "integer", minimum: 1 },
          environment: text,
          permissions,
          strategy: object({ "fail-fast": { type: "boolean" }, matrix: mapOf({ type: "array" }) }, "matrix"),
          env: mapOf(scalar),
          steps: { type: "array", items: step, minItems: 1 }
        },
        "runs-on",
        "timeout-minutes",
        "steps"
      )
    )
  },
  "name",
  "on",
  "permissions",
  "jobs"
)

/** What jobs may write, by workflow and job. */
const mayWrite: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>> = {
  "release.yml": { publish: ["id-token"], describe: ["contents"] }
}

const writes = (permitted: Readonly<Record<string, string>> = {}): ReadonlyArray<string> =>
  Object.keys(permitted).filter((name) => permitted[name] === "write")

/** What is wrong with the permissions of a workflow and with the actions that it uses. */
const trustFaults = (name: string, source: string, { jobs, permissions: all }: Workflow): ReadonlyArray<string> => [
  ...(JSON.stringify(all) === '{"contents":"read"}' ? [] : ["All jobs may do more than read"]),
  ...Object.entries(jobs).flatMap(([job, { permissions: own }]) =>
    writes(own)
      .filter((scope) => !(mayWrite[name]?.[job] ?? []).includes(scope))
      .map((scope) => `${job} may write ${scope}`)
  ),
  // Actions are pinned by hash, because a tag can be moved to other code. The comment names the release.
  ...Array.from(source.matchAll(/\buses: (.*)$/gm), ([, used = ""]) => used)
    .filter((used) => !/^[\w-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(used))
    .map((used) => `${used} is not pinned`)
]

/** Expressions in shell scripts must not contain values that others choose, such as a branch name. */
const safeExpression = /^(?:matrix\.\w+|contains\(github\.ref_name, '-'\) && '--prerelease' \|\| '--latest')$/

/** What is wrong with the scripts of a workflow. */
const scriptFaults = ({ jobs }: Workflow): ReadonlyArray<string> => {
  const { scripts } = JSON.parse(read("package.json").text)
  const runs = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => (run === undefined ? [] : [run])))
  return runs.flatMap((run) => [
    ...Array.from(run.matchAll(/\bnpm run ([\w:-]+)/g), ([, script = ""]) => script)
      .filter((script) => scripts[script] === undefined)
      .map((script) => `There is no script ${script}`),
    ...Array.from(run.matchAll(/(?<![\w/])(?:\.ci|deploy|node_modules|scripts)\/[\w./-]+/g), ([path]) => path)
      .filter((path) => !existsSync(join(root, path)))
      .map((path) => `There is no file ${path}`),
    ...Array.from(run.matchAll(/\$\{\{\s*(.*?)\s*\}\}/g), ([, expression = ""]) => expression)
      .filter((expression) => !safeExpression.test(expression))
      .map((expression) => `The shell would run the value of ${expression}`)
  ])
}

const ajv = new Ajv({ strict: false, allErrors: true })

const faultsOf = (name: string, source: string): ReadonlyArray<string> => {
  const workflow = parse(source)
  if (!ajv.validate(workflowSchema, workflow)) return [ajv.errorsText()]
  return [...trustFaults(name, source, workflow), ...scriptFaults(workflow)]
}

const textOf = (name: string): string => read(`.github/workflows/${name}`).text
const workflowOf = (name: string): Workflow => parse(textOf(name))

/** The scripts that a job runs. */
const runsOf = ({ jobs }: Workflow, job: string): ReadonlyArray<string> =>
  (jobs[job]?.steps ?? []).flatMap(({ run }) => (run === undefined ? [] : [run]))

describe("a CI workflow", () => {
  const names = sources(".github/workflows", ".yml").map(({ path }) => path.replace(".github/workflows/", ""))

  it("is valid, with pinned actions, minimal permissions and existing scripts", () => {
    assert.sameMembers(names, ["release.yml", "tests.yml"])
    for (const name of names) assert.deepStrictEqual(faultsOf(name, textOf(name)), [], name)
  })

  it.each([
    ["a job without a time limit", / {4}timeout-minutes: 90\n/, "", /timeout-minutes/],
    ["an invalid step", /- run: \.ci\/run/, "- runs: .ci/run", /must/],
    ["an action pinned to a tag", /checkout@\w+ # v4\.2\.2/, "checkout@v4", /checkout@v4 is not pinned/],
    ["an action without a release comment", / # v0\.36\.0/, "", /trivy-action@\w+ is not pinned/],
    [
      "permissions for all jobs",
      /^permissions:\n {2}contents: read/m,
      "permissions:\n  contents: write",
      /more than read/
    ],
    ["an unlisted permission", /id-token: write/, "packages: write", /publish may write packages/],
    ["a script that does not exist", /npm run release/, "npm run relase", /There is no script relase/],
    ["a file that does not exist", /deploy\/Dockerfile/, "deploy/Containerfile", /There is no file deploy\/Container/],
    [
      "an unsafe expression in a shell command",
      /"\$GITHUB_REF_NAME"/,
      "$" + "{{ github.ref_name }}",
      /would run the value of github\.ref/
    ]
  ])("is rejected for %s", (_, part, replacement, fault) => {
    const broken = textOf("release.yml").replace(part, replacement)
    assert.notStrictEqual(broken, textOf("release.yml"))
    assert.match(faultsOf("release.yml", broken).join("\n"), fault)
  })
})

describe("the tests in CI", () => {
  const workflow = workflowOf("tests.yml")

  it("run on every supported Node release, each with that release's own binary", () => {
    assert.deepStrictEqual(workflow.jobs.node?.strategy?.matrix, { node: [22, 24, 26] })
    assert.deepStrictEqual(runsOf(workflow, "node"), ["npm ci", "node node_modules/vitest/vitest.mjs run"])
  })

  it("run on every PostgreSQL release in scripts/postgresVersions.ts, and on Bun and Deno", () => {
    const [, releases = ""] = /const releases = \{([^}]*)\}/.exec(read("scripts/postgresVersions.ts").text) ?? []
    const versions = Array.from(releases.matchAll(/^ +(\d+):/gm), ([, version]) => Number(version))
    assert.deepStrictEqual(workflow.jobs.postgresql?.strategy?.matrix, { postgresql: versions })
    assert.include(runsOf(workflow, "runtimes"), "npm run runtimes")
  })
})

describe("a release in CI", () => {
  const workflow = workflowOf("release.yml")

  it("starts when a version tag is pushed", () => assert.deepStrictEqual(workflow.on, { push: { tags: ["v*"] } }))

  it("publishes only after all checks and the image scan", () => {
    const publishing = Object.keys(workflow.jobs).filter((job) =>
      runsOf(workflow, job).some((run) => run.includes("npm run release") && !run.includes("--dry-run"))
    )
    assert.deepStrictEqual(publishing, ["publish"])
    assert.deepStrictEqual(workflow.jobs.publish?.needs, ["check", "image"])
    assert.include(runsOf(workflow, "check"), ".ci/run")
    assert.include(runsOf(workflow, "check"), "npm run release -- --dry-run")
    const image = workflow.jobs.image?.steps ?? []
    assert.match(image.at(-2)?.run ?? "", /^docker build --file deploy\/Dockerfile /)
    assert.match(image.at(-1)?.uses ?? "", /^aquasecurity\/trivy-action@/)
  })

  it("attaches the published packages, the SBOMs and the notes", () => {
    assert.strictEqual(workflow.jobs.describe?.needs, "publish")
    const [run = ""] = runsOf(workflow, "describe")
    for (const part of ["release/*.tgz", "release/*.json", "--notes-file release/notes.md"]) assert.include(run, part)
  })
})
