import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Deployment } from "kubernetes-models/apps/v1"
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2"
import { Job } from "kubernetes-models/batch/v1"
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1"
import { PodDisruptionBudget } from "kubernetes-models/policy/v1"
import { Secret, Service } from "kubernetes-models/v1"
import { parse, parseAllDocuments } from "yaml"
import { freePort } from "./support/PostgresServer.ts"
import { read, root, sources } from "./support/sources.ts"

/*
 * The files in `deploy/kubernetes/` are correct as far as can be checked without a cluster: their fields, and what they
 * say about the command and each other.
 */

const temporary = mkdtempSync(join(tmpdir(), "quotewire-kubernetes-"))
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

const program = join(root, "packages/cli/bin/quotewire.js")
const folder = "deploy/kubernetes"

/** A host stops within this many seconds. */
const longestStopSeconds = 10

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string }
  readonly tcpSocket?: { readonly port: string }
}

/** What the tests read of a container. */
interface Container {
  readonly args: ReadonlyArray<string>
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string }>
  readonly envFrom?: unknown
  readonly ports?: ReadonlyArray<{ readonly name: string; readonly containerPort: number }>
  readonly startupProbe?: Probe
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
}

const files = sources(folder, ".yaml")
const manifests = files
  .flatMap(({ text }) => parseAllDocuments(text).map((document) => document.toJS()))
  .filter(({ kind }) => kind !== "Kustomization")
type Manifest = (typeof manifests)[number]
const pods = manifests.filter(({ spec }) => spec?.template !== undefined)
const containersOf = (pod: Manifest): ReadonlyArray<Container> => pod.spec.template.spec.containers
const [secret] = manifests.filter(({ kind }) => kind === "Secret")

const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0

describe("the Kubernetes manifests", () => {
  const models = new Map<string, { readonly apiVersion: string; readonly make: (of: never) => { validate(): void } }>([
    ["Deployment", { apiVersion: "apps/v1", make: (of) => new Deployment(of) }],
    ["HorizontalPodAutoscaler", { apiVersion: "autoscaling/v2", make: (of) => new HorizontalPodAutoscaler(of) }],
    ["Job", { apiVersion: "batch/v1", make: (of) => new Job(of) }],
    ["NetworkPolicy", { apiVersion: "networking.k8s.io/v1", make: (of) => new NetworkPolicy(of) }],
    ["PodDisruptionBudget", { apiVersion: "policy/v1", make: (of) => new PodDisruptionBudget(of) }],
    ["Secret", { apiVersion: "v1", make: (of) => new Secret(of) }],
    ["Service", { apiVersion: "v1", make: (of) => new Service(of) }]
  ])
  it("have every field that the Kubernetes API requires", () => {
    assert.sameMembers([...new Set(manifests.map(({ kind }) => kind))], [...models.keys()])
    for (const manifest of manifests) {
      const model = models.get(manifest.kind)
      assert.strictEqual(manifest.apiVersion, model?.apiVersion)
      model?.make(manifest as never).validate()
    }
  })

  it("have no fields that the Kubernetes API lacks", () => {
    const lines = manifests.map(
      (manifest, place) =>
        `import type { I${manifest.kind} as K${place} } from "kubernetes-models/${manifest.apiVersion}"
        export const manifest${place}: K${place} = ${JSON.stringify(manifest)}`
    )
    const check = (...texts: ReadonlyArray<string>) => {
      writeFileSync(join(temporary, "manifests.ts"), texts.join("\n"))
      return spawnSync(
        process.execPath,
        [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--skipLibCheck"].concat([
          "--module",
          "nodenext",
          "--target",
          "es2024",
          "--types",
          "",
          join(temporary, "manifests.ts")
        ]),
        { cwd: temporary, encoding: "utf8" }
      ).stdout
    }
    symlinkSync(join(root, "node_modules"), join(temporary, "node_modules"))
    writeFileSync(join(temporary, "package.json"), JSON.stringify({ type: "module" }))
    assert.strictEqual(check(...lines), "")
    assert.include(check(...lines.map((line) => line.replaceAll("periodSeconds", "periodSecond"))), "periodSecond")
  })

  it("run the command without privileges, and give the command time to stop", () => {
    assert.lengthOf(pods, 3)
    for (const { kind, spec } of pods) {
      const { containers, securityContext, terminationGracePeriodSeconds } = spec.template.spec
      assert.deepInclude(securityContext, { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
      for (const { lifecycle, securityContext: own } of containers) {
        assert.deepInclude(own, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] }
        })
        if (kind === "Job") continue
        const waits = lifecycle?.preStop.sleep.seconds ?? 0
        assert.isAbove(terminationGracePeriodSeconds - waits, longestStopSeconds)
      }
    }
  })

  it("do not restart a host because the database is unavailable", () => {
    const probes = pods.flatMap(({ spec }) =>
      spec.template.spec.containers.map(({ livenessProbe }: Record<string, unknown>) => JSON.stringify(livenessProbe))
    )
    assert.isFalse(probes.some((probe) => probe?.includes("/health/ready")))
  })

  it("use only flags and settings that the command has", () => {
    for (const container of pods.flatMap(containersOf)) {
      const [command = "", ...flags] = container.args
      const help = execFileSync(process.execPath, [program, command, "--help"], { encoding: "utf8" })
      for (const flag of flags) assert.include(help, flag)
      for (const { name } of container.env ?? []) assert.include(help, `[${name}]`)
      if (container.envFrom === undefined) continue
      for (const name of Object.keys(secret.stringData)) assert.include(help, `[${name}]`)
    }
  })

  it("probe only ports that the containers have and paths that the command serves", async () => {
    const metricsPort = await freePort()
    const help = execFileSync(process.execPath, [program, "serve", "--help"], { encoding: "utf8" })
    const host = spawn(process.execPath, [program, "dev", "--port", "0", "--metrics-port", `${metricsPort}`, "--json"])
    try {
      const [line] = await once(host.stdout, "data")
      const bases = new Map([
        ["http", new URL(JSON.parse(String(line)).base_url)],
        ["metrics", new URL(`http://127.0.0.1:${metricsPort}`)]
      ])
      for (const container of pods.flatMap(containersOf)) {
        const ports = (container.ports ?? []).map(({ name }) => name)
        for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
          if (probe === undefined) continue
          const { port, path } = probe.httpGet ?? { ...probe.tcpSocket, path: undefined }
          assert.include(ports, port)
          if (path !== undefined) assert.strictEqual((await fetch(new URL(path, bases.get(port ?? "")))).status, 200)
        }
        for (const { containerPort, name } of container.ports ?? []) {
          const metrics = (container.env ?? []).find((variable) => variable.name === "QUOTEWIRE_METRICS_PORT")
          if (name === "metrics") assert.strictEqual(metrics?.value, `${containerPort}`)
          else assert.include(help, `${containerPort}`)
        }
      }
    } finally {
      host.kill("SIGKILL")
    }
  })

  it("refer only to existing pods, ports and names", () => {
    const labelsOf = (pod: Manifest) => pod.spec.template.metadata.labels
    const selected = (labels: Readonly<Record<string, string>>) =>
      pods.filter((pod) => Object.entries(labels).every(([name, value]) => labelsOf(pod)[name] === value))
    const named = (port: unknown) => (typeof port === "string" ? [port] : [])
    for (const { kind, spec } of manifests) {
      if (kind === "HorizontalPodAutoscaler") {
        const { kind: of, name } = spec.scaleTargetRef
        const [target] = pods.filter(({ kind: own, metadata }) => own === of && metadata.name === name)
        assert.isDefined(target)
        // A replica count in the manifest would override the autoscaler's.
        assert.isUndefined(target?.spec.replicas)
      }
      const labels =
        kind === "Service" ? spec.selector : (spec?.selector?.matchLabels ?? spec?.podSelector?.matchLabels)
      if (labels === undefined) continue
      const found = selected(labels)
      assert.isNotEmpty(found)
      const ports: ReadonlyArray<string> =
        kind === "Service"
          ? spec.ports.flatMap(({ targetPort }: { readonly targetPort: unknown }) => named(targetPort))
          : kind === "NetworkPolicy"
            ? (spec.ingress ?? []).flatMap(
                ({ ports: of }: { readonly ports: ReadonlyArray<{ readonly port: unknown }> }) =>
                  of.flatMap(({ port }) => named(port))
              )
            : []
      for (const container of found.flatMap(containersOf)) {
        const own = (container.ports ?? []).map(({ name }) => name)
        for (const port of ports) assert.include(own, port)
      }
    }
  })

  it("allow no traffic to or from a pod unless a rule permits it", () => {
    const all = manifests.filter(({ kind }) => kind === "NetworkPolicy")
    const [everywhere] = all.filter(({ metadata }) => metadata.name === "quotewire")
    assert.deepStrictEqual(everywhere?.spec.policyTypes, ["Ingress", "Egress"])
    assert.isUndefined(everywhere?.spec.ingress)
    for (const pod of pods) {
      assert.deepInclude(pod.spec.template.metadata.labels, everywhere?.spec.podSelector.matchLabels)
    }
  })

  it("keep one pod of each deployment running while nodes are drained", () => {
    const kept = manifests.filter(({ kind }) => kind === "PodDisruptionBudget").map(({ metadata }) => metadata.name)
    assert.sameMembers(
      kept,
      pods.filter(({ kind }) => kind === "Deployment").map(({ metadata }) => metadata.name)
    )
  })

  it("are all listed in kustomization.yaml, except the migration and the example secret", () => {
    const { resources } = parse(read(`${folder}/kustomization.yaml`).text)
    const rest = files.map(({ path }) => path.slice(folder.length + 1)).filter((name) => name !== "kustomization.yaml")
    assert.sameMembers([...resources, "migrate.yaml", "secret.example.yaml"], rest)
  })

  it.skipIf(!hasKubectl)("can be built with kubectl kustomize (skipped without kubectl)", () => {
    const made = execFileSync("kubectl", ["kustomize", join(root, folder)], { encoding: "utf8" })
    assert.lengthOf(parseAllDocuments(made), manifests.filter(({ kind }) => !["Job", "Secret"].includes(kind)).length)
  })
})
