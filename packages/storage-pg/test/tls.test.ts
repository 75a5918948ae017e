import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer, Redacted } from "effect"
import * as Certificate from "../../../test/support/certificate.ts"
import { PostgresServer } from "../../../test/support/PostgresServer.ts"
import { statements } from "../../../test/support/TestDatabase.ts"

const certificates = {
  server: Certificate.make("localhost"),
  client: Certificate.make("client"),
  other: Certificate.make("x")
}

/** The certificates in files, as operators have them. */
const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const made = mkdtempSync(join(tmpdir(), "quotewire-tls-"))
    for (const [name, { cert, key }] of Object.entries(certificates)) {
      writeFileSync(join(made, `${name}.crt`), cert)
      writeFileSync(join(made, `${name}.key`), key)
    }
    return made
  }),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

const rules = [
  "hostnossl all plain   127.0.0.1/32 scram-sha-256",
  "hostssl   all tls     127.0.0.1/32 scram-sha-256",
  "hostssl   all mutual  127.0.0.1/32 scram-sha-256 clientcert=verify-ca",
  "host      all postgres 127.0.0.1/32 scram-sha-256",
  ""
].join("\n")

const encryptedServer = Effect.acquireRelease(
  Effect.promise(async () => {
    const { server, client } = certificates
    const serverFiles = { "server.crt": server.cert, "server.key": server.key, "clients.crt": client.cert }
    const started = await PostgresServer.start({
      durable: false,
      settings: { ssl: "on", ssl_ca_file: "clients.crt" },
      files: { ...serverFiles, "pg_hba.conf": rules }
    })
    const users = ["plain", "tls", "mutual"].map((user) => `create role ${user} superuser login password 'secret'`)
    await statements(started.url("postgres"), ...users)
    return started
  }),
  (server) => Effect.promise(() => server.remove())
)

const plainServer = Effect.acquireRelease(
  Effect.promise(() => PostgresServer.start({ durable: false })),
  (server) => Effect.promise(() => server.remove())
)

/**
 * Migrates and opens a storage backend at an address. Returns which of its connections the server reports as encrypted,
 * or why it failed.
 */
const open = (server: PostgresServer, user: string, host: string, params: string, tls?: PgStorage.Options["tls"]) => {
  const url = `${server.url("postgres", `${user}:secret`).replace("127.0.0.1", host)}${params}`
  const options = { url: Redacted.make(url), ...(tls && { tls }) }
  const mine = `select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid) where usename = '${user}'`
  return Effect.andThen(PgStorage.migrate(options), Layer.build(PgStorage.layer(options))).pipe(
    Effect.andThen(Effect.promise(() => statements(server.url("postgres"), mine))),
    Effect.map((rows) => rows.map(({ ssl }) => (ssl === true ? "encrypted" : "plain")).join()),
    Effect.catchTag("DatabaseRefused", ({ message, reason }) => Effect.succeed(`${reason}: ${message}`)),
    Effect.scoped
  )
}

/** Parameters of an address, with files in a folder, and the outcome. */
const cases = (files: string) => {
  const trusted = `&sslrootcert=${files}/server.crt`
  const client = (name: string) => `&sslcert=${files}/${name}.crt&sslkey=${files}/${name}.key`
  return [
    ["plain", "localhost", "", /^plain$/],
    ["plain", "localhost", "?sslmode=disable", /^plain$/],
    ["tls", "localhost", `?sslmode=verify-full${trusted}`, /^encrypted$/],
    ["tls", "localhost", `?sslmode=require${trusted}`, /^encrypted$/],
    ["tls", "127.0.0.1", `?sslmode=verify-ca${trusted}`, /^encrypted$/],
    ["mutual", "localhost", `?sslmode=verify-full${trusted}${client("client")}`, /^encrypted$/],
    ["tls", "localhost", "", /^credentials: .* does not allow the user tls to connect from here: .* may require TLS/],
    ["tls", "localhost", "?sslmode=verify-full", /^tls: The certificate .* is not trusted .* sslrootcert/],
    ["tls", "localhost", "?sslmode=require", /^tls: The certificate .* is not trusted/],
    [
      "tls",
      "localhost",
      `?sslmode=verify-ca&sslrootcert=${files}/other.crt`,
      /^tls: The certificate .* is not trusted/
    ],
    ["tls", "127.0.0.1", `?sslmode=verify-full${trusted}`, /^tls: The certificate .* is for a different host/],
    ["mutual", "localhost", `?sslmode=verify-full${trusted}`, /^credentials: .* or a client certificate/],
    [
      "mutual",
      "localhost",
      `?sslmode=verify-full${trusted}${client("other")}`,
      /^tls: .* refuses the client certificate/
    ],
    ["tls", "localhost", `?sslmode=verify-full&sslrootcert=${files}/none.crt`, /^tls: The file that sslrootcert names/],
    [
      "tls",
      "localhost",
      `?sslmode=verify-full${trusted}&sslcert=${files}/client.crt`,
      /^tls: .* its key must be set together/
    ],
    ["tls", "localhost", `?sslmode=prefer${trusted}`, /^tls: Certificates need TLS: add sslmode=verify-full/],
    ["tls", "localhost", "?sslmode=always", /^tls: sslmode .* must be one of disable, allow, prefer, require/]
  ] as const
}

describe("a connection to PostgreSQL", () => {
  it.live("is encrypted as the address requires, or fails with a one-sentence error", () =>
    Effect.gen(function* () {
      const files = yield* folder
      const server = yield* encryptedServer
      for (const [user, host, params, expected] of cases(files)) {
        const outcome = yield* open(server, user, host, params)
        assert.match(outcome, expected, `${user} ${params}`)
        assert.notInclude(outcome, files)
      }
    })
  )

  it.live("can use certificates given as text", () =>
    Effect.gen(function* () {
      const server = yield* encryptedServer
      const { client, server: authority } = certificates
      const tls = { ca: authority.cert, cert: client.cert, key: client.key }
      assert.strictEqual(yield* open(server, "mutual", "localhost", "?sslmode=verify-full", tls), "encrypted")
      const wrong = yield* open(server, "mutual", "localhost", "?sslmode=verify-full", { ...tls, key: authority.key })
      assert.match(wrong, /^tls: The certificates or the key .* cannot be used/)
    })
  )

  it.live("fails with a clear error if the server does not support TLS", () =>
    Effect.gen(function* () {
      const server = yield* plainServer
      const outcome = yield* open(server, "postgres", "localhost", "?sslmode=verify-full")
      assert.match(outcome, /^tls: PostgreSQL at localhost:\d+ does not offer TLS/)
    })
  )
})
