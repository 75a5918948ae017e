import { createServer } from "node:net"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { ApiKey, generateSealKey, OperatorToken } from "@quotewire/core"
import { ConfigProvider, Console, Effect, Exit, Layer, Stdio, Stream } from "effect"
import { afterAll, beforeAll } from "vitest"
import { run } from "../src/Program.ts"
import { variableOf } from "../src/settings/Settings.ts"
import { type Leaf, leavesBelow } from "./support/help.ts"

/*
 * Any input may be a key or contain a password. So no command ever prints its input, wherever and in whatever form
 * it was given. The commands and their parameters are read from their help.
 */

const secret = "Zq7xSecretZq7x"
const key = ApiKey.write("sandbox", "server", new Uint8Array(ApiKey.randomBytes).fill(7))
const token = OperatorToken.write(new Uint8Array(ApiKey.randomBytes).fill(9))
const secrets = [secret, key.slice("sandbox_server_".length), token.slice("operator_".length)]

/** A value with the secret in it, for a setting that takes secrets. */
const proper: Readonly<Record<string, ReadonlyArray<string>>> = {
  "api-key": [key],
  "operator-token": [token],
  "database-url": [
    `postgres://quotewire:${secret}@127.0.0.1:1/none`,
    `postgres://quotewire:1/${secret}@127.0.0.1:1/none`
  ],
  "database-pooler-url": [`postgres://quotewire:${secret}@127.0.0.1:1/none`],
  "signing-secret": [`whsec_${Buffer.from(secret.padEnd(32, "-")).toString("base64")}`, `whsec_${secret}`],
  "seal-keys": [Buffer.from(secret.padEnd(32, "-")).toString("base64"), `${secret},${secret}`]
}

const wrong = [
  secret,
  key,
  `https://user:${secret}@example.com`,
  `https://example.com/?token=${secret}`,
  `{"${secret}":1}`,
  `${secret}\n    at ${secret}`
]

const sealKeys = generateSealKey()

/** A port in use, so that no host starts. */
const blocker = createServer()
let taken = 0
beforeAll(async () => {
  await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve))
  const address = blocker.address()
  taken = typeof address === "object" && address !== null ? address.port : 0
})
afterAll(() => new Promise((resolve) => blocker.close(resolve)))

/** What a command needs to get as far as it can before it fails. */
const environment = (): Record<string, string> => ({
  QUOTEWIRE_PORT: String(taken),
  QUOTEWIRE_HTTP: "true",
  QUOTEWIRE_DATABASE_URL: "postgres://quotewire@127.0.0.1:1/none",
  QUOTEWIRE_SEAL_KEYS: sealKeys,
  QUOTEWIRE_VERBOSE: "true"
})

const recorder = (said: Array<string>): Console.Console => {
  const record = (...parts: ReadonlyArray<unknown>) => void said.push(parts.map(String).join(" "))
  return Object.assign(Object.create(console), {
    log: record,
    error: record,
    warn: record,
    info: record,
    debug: record
  })
}

/** The command-line arguments and the environment variables. */
interface Attempt {
  readonly args: ReadonlyArray<string>
  readonly env: Record<string, string>
}

const stdin = Stdio.layerTest({ stdin: Stream.fromIterable(wrong.map((value) => new TextEncoder().encode(value))) })

const played = Effect.fnUntraced(function* ({ args, env }: Attempt) {
  const said: Array<string> = []
  const exit = yield* run(args).pipe(
    Effect.provideService(Console.Console, recorder(said)),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { ...environment(), ...env } })),
    Effect.exit
  )
  return { exit, said: said.join("\n") }
})

/** Values for arguments that are ids. */
const ids: Readonly<Record<string, string>> = {
  key_id: `key_${"0".repeat(26)}`,
  event_id: `evt_${"0".repeat(26)}`,
  quote_request_id: `qreq_${"0".repeat(26)}`,
  id: `qreq_${"0".repeat(26)}`
}

/** Every way to pass a command the secret. */
const attempts = ({ args, flags, path }: Leaf): ReadonlyArray<Attempt> => {
  const given = (args: ReadonlyArray<string>, env: Record<string, string> = {}): Attempt => ({
    args: [...path, ...args],
    env
  })
  const filled = args.map(({ name }) => ids[name] ?? "Acme")
  const everywhere = wrong.flatMap((value) => [
    given([value]),
    given([...filled, value]),
    given([...filled, "--", value]),
    given([...filled, `--x=${value}`]),
    given([...filled, "--x", value]),
    given([...filled, `--${value}`]),
    given([...filled, `-${value}`]),
    given([value, ...filled]),
    { args: [value, ...path], env: {} },
    { args: [`--x=${value}`, ...path], env: {} }
  ])
  // A folder is created under any given name, and errors about it include the name.
  const inFlags = flags
    .filter(({ name }) => name !== "data")
    .flatMap(({ name }) =>
      [...wrong, ...(proper[name] ?? [])].flatMap((value) => [
        given([...filled, `--${name}=${value}`]),
        given([...filled, `--${name}=${value}`, `--${name}=${value}`]),
        given([...filled, `--no-${name}=${value}`]),
        given(filled, { [variableOf(name)]: value })
      ])
    )
  return [...everywhere, ...inFlags]
}

describe("a command", () => {
  it.live(
    "never prints secret arguments in its output or its errors, even with --verbose",
    () =>
      Effect.gen(function* () {
        const leaves = yield* leavesBelow([])
        const made = leaves.flatMap(({ flags }) => flags.filter(({ type }) => type === "secret"))
        assert.sameMembers([...new Set(made.map(({ name }) => name))], Object.keys(proper))
        const check = Effect.fnUntraced(function* (attempt: Attempt) {
          const { exit, said } = yield* played(attempt)
          const isSafe = !secrets.some((one) => said.includes(one))
          const isExplained = Exit.isSuccess(exit) || said !== ""
          if (!isSafe || !isExplained) assert.fail(`${JSON.stringify(attempt)} printed: ${said}`)
        })
        yield* Effect.forEach(leaves.flatMap(attempts), check, { concurrency: 8, discard: true })
      }).pipe(Effect.provide(Layer.merge(NodeServices.layer, stdin))),
    180_000
  )
})
