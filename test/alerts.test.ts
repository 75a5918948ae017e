import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "effect"
import { parse } from "yaml"
import { finding, holds } from "./support/findings.ts"
import { read, root } from "./support/sources.ts"

/*
 * The alerts and the dashboard ask for what hosts measure, as the guide lists it, and each alert is in the runbook.
 */

const rules = "deploy/prometheus/quotewire.rules.yaml"
const dashboard = "deploy/grafana/quotewire.json"

/** The metrics of the guide with their labels, and those that Prometheus itself adds. */
const labels = (() => {
  const rows = read("docs/guides/observe.md").text.matchAll(/^\| `(quotewire_\w+)` +\| (.+) \|$/gm)
  const listed = Array.from(rows, ([, name = "", meaning = ""]): [string, ReadonlySet<string>] => [
    name,
    new Set(Array.from(meaning.matchAll(/`(\w+)`/g), ([, label = ""]) => label))
  ])
  const processes = ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"]
  const own = [...processes, "nodejs_heap_size_used_bytes", "up"].map((name): [string, ReadonlySet<string>] => [
    name,
    new Set<string>()
  ])
  return new Map([...listed, ...own])
})()

const common = new Set(["instance", "job", "le"])

/** What an expression asks for: metrics, each with the labels of its selector, and the labels that it groups by. */
const askedBy = (expression: string) => {
  const metrics = Array.from(
    expression.matchAll(/\b((?:quotewire|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g),
    ([, name = "", selector = ""]) => ({
      name: name.replace(/_(?:bucket|sum|count)$/, ""),
      labels: Array.from(selector.matchAll(/(\w+) ?(?:=~|!~|!=|=)/g), ([, label = ""]) => label)
    })
  )
  const groups = Array.from(expression.matchAll(/\bby \(([^)]+)\)/g), ([, names = ""]) => names.split(/, ?/)).flat()
  return metrics.map((metric) => ({ ...metric, labels: [...metric.labels, ...groups] }))
}

/** The faults of an expression: metrics and labels that no host has. */
const faultsOf = (expression: string): ReadonlyArray<string> => {
  const asked = askedBy(expression)
  const unknown = asked.filter(({ name }) => !labels.has(name)).map(({ name }) => name)
  const wrong = asked.flatMap(({ labels: used, name }) =>
    used
      .filter((label) => !common.has(label) && labels.get(name)?.has(label) !== true)
      .map((label) => `${name} ${label}`)
  )
  return asked.length === 0 ? ["asks for no metric"] : [...unknown, ...wrong]
}

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

const { groups } = parse(read(rules).text)
const alerts: ReadonlyArray<Alert> = groups.flatMap((group: { rules: ReadonlyArray<Alert> }) => group.rules)

describe("the Prometheus alerts", () => {
  it("use only metrics and labels that hosts export", () => {
    holds(alerts.map(({ alert, expr }) => finding(rules, faultsOf(expr).length === 0, `${alert}: ${faultsOf(expr)}`)))
    assert.deepStrictEqual(faultsOf('sum by (nobody) (quotewire_requests_total{stat="1"}) + quotewire_nothing'), [
      "quotewire_nothing",
      "quotewire_requests_total stat",
      "quotewire_requests_total nobody",
      "quotewire_nothing nobody"
    ])
  })

  it("match the runbook's headings exactly", () => {
    const headings = Array.from(read("docs/guides/runbook.md").text.matchAll(/^## (\w+)$/gm), ([, name = ""]) => name)
    assert.deepStrictEqual(
      headings,
      alerts.map(({ alert }) => alert)
    )
    for (const { alert, annotations, labels: given } of alerts) {
      assert.strictEqual(annotations.runbook, `docs/guides/runbook.md#${alert.toLowerCase()}`)
      assert.match(annotations.summary, /^\S.{10,}/)
      assert.include(["page", "ticket"], given.severity)
    }
  })

  it("pass promtool's checks and tests", ({ skip }) => {
    const run = (...args: ReadonlyArray<string>) => spawnSync("promtool", args, { cwd: `${root}/deploy/prometheus` })
    if (run("--version").error !== undefined) skip("promtool is not installed")
    for (const [what, file] of [
      ["check", "quotewire.rules.yaml"],
      ["test", "quotewire.rules.test.yaml"]
    ] as const) {
      const { status, stderr, stdout } = run(what, "rules", file)
      assert.strictEqual(status, 0, `${stdout}${stderr}`)
    }
  })
})

describe("the Grafana dashboard", () => {
  const { panels, templating } = JSON.parse(read(dashboard).text)
  const graphs = panels.filter(({ type }: { type: string }) => type !== "row")

  it("uses only metrics and labels that hosts export, with a unit and a description for each panel", () => {
    assert.isAbove(graphs.length, 10)
    for (const { datasource, description, fieldConfig, targets, title } of graphs) {
      assert.match(description, /^[A-Z].+\.$/, title)
      assert.isTrue(Predicate.isString(fieldConfig.defaults.unit), title)
      assert.match(datasource.uid, /^\$\{datasource\}$/, title)
      for (const { expr } of targets) assert.deepStrictEqual(faultsOf(expr), [], title)
    }
  })

  it("has uniquely numbered panels, and declares every variable in its queries", () => {
    const ids = panels.map(({ id }: { id: number }) => id)
    assert.strictEqual(new Set(ids).size, ids.length)
    const variables = new Set(templating.list.map(({ name }: { name: string }) => name))
    const open = read(dashboard).text.matchAll(/\$\{?(\w+)/g)
    for (const [, name = ""] of open) assert.isTrue(name.startsWith("__") || variables.has(name), name)
  })
})
