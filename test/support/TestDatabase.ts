import { createHash, randomUUID } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Redacted, type Scope } from "effect"
import { Client } from "pg"
import { migrations } from "../../packages/storage-pg/src/migrations/migrations.ts"
import { waitUntil } from "./eventually.ts"
import { folderVariable, PostgresServer, type ServerName } from "./PostgresServer.ts"

/*
 * Databases for tests, on one server per run: that of QUOTEWIRE_TEST_DATABASE_URL, or a private one, which the first
 * test that needs it starts and the end of the run removes. Tests of several servers start a second one in the same
 * way.
 */

const failureFile = (folder: string): string => join(folder, "failure")

/** Why a server of the run did not start in a folder; null if it did. */
export const startFailure = (folder: string): string | null =>
  existsSync(failureFile(folder)) ? readFileSync(failureFile(folder), "utf8") : null

/** Starts a server of the run, or waits for whoever is starting it. */
const ownServer = async (folder: string, name: ServerName): Promise<PostgresServer> => {
  const portFile = join(folder, `${name}_port`)
  try {
    mkdirSync(join(folder, name))
  } catch {
    await waitUntil(() => {
      const failure = startFailure(folder)
      if (failure !== null) throw new Error(failure)
      return existsSync(portFile)
    })
    return new PostgresServer(join(folder, name), Number(readFileSync(portFile, "utf8")))
  }
  const server = await PostgresServer.start({ durable: false, folder: join(folder, name) }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    const failure = `The tests' PostgreSQL did not start: ${reason.trim().split("\n").join(" ")}`
    writeFileSync(failureFile(folder), failure)
    throw new Error(failure)
  })
  writeFileSync(portFile, `${server.port}`)
  return server
}

const serverUrl = async (name: ServerName): Promise<URL> => {
  const given = process.env.QUOTEWIRE_TEST_DATABASE_URL
  if (given !== undefined) return new URL(given)
  const folder = process.env[folderVariable]
  if (folder === undefined) throw new Error(`${folderVariable} is not set: tests run under vitest`)
  return new URL((await ownServer(folder, name)).url("postgres"))
}

const withName = (server: URL, database: string): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

/** Runs statements in a database, one after the other; returns the rows of the last. */
export const statements = async (
  url: string,
  ...texts: ReadonlyArray<string>
): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new Client(url)
  client.on("error", () => undefined)
  await client.connect()
  try {
    let rows: ReadonlyArray<Record<string, unknown>> = []
    for (const text of texts) rows = (await client.query(text)).rows
    return rows
  } finally {
    await client.end()
  }
}

/** A test's own database. */
export interface TestDatabase {
  readonly url: string
  readonly options: { readonly url: Redacted.Redacted<string> }
  readonly drop: () => Promise<void>
}

const databaseOf = (server: URL, name: string): TestDatabase => {
  const url = withName(server, name)
  return {
    url,
    options: { url: Redacted.make(url) },
    drop: async () => {
      await statements(server.href, `drop database if exists ${name} with (force)`)
    }
  }
}

const newName = () => `quotewire_${randomUUID().replaceAll("-", "")}`

/** An empty database on one of the servers, without the schema. */
export const emptyDatabaseOn = async (on: ServerName): Promise<TestDatabase> => {
  const server = await serverUrl(on)
  const name = newName()
  await statements(server.href, `create database ${name}`)
  return databaseOf(server, name)
}

/** An empty database, without the schema. */
export const emptyDatabase = (): Promise<TestDatabase> => emptyDatabaseOn("server")

/** Makes the template database that others are copied from, once per server. */
const makeTemplate = async (server: URL, name: string): Promise<void> => {
  const client = new Client(server.href)
  await client.connect()
  try {
    await client.query("select pg_advisory_lock(7301)")
    const { rowCount } = await client.query("select from pg_database where datname = $1", [name])
    if (rowCount !== 0) return
    const draft = newName()
    await client.query(`create database ${draft}`)
    await Effect.runPromise(PgStorage.migrate({ url: Redacted.make(withName(server, draft)) }))
    await client.query(`alter database ${draft} rename to ${name}`)
  } finally {
    await client.end()
  }
}

let template: Promise<string> | null = null

// Depends on what a process started with: a server that lives longer keeps no template with an older schema.
const templateName = (): string =>
  `quotewire_template_${createHash("sha256").update(JSON.stringify(migrations)).digest("hex").slice(0, 16)}`

/** A database with only the schema. */
export const freshDatabase = async (): Promise<TestDatabase> => {
  const server = await serverUrl("server")
  template ??= makeTemplate(server, templateName()).then(templateName)
  const name = newName()
  await statements(server.href, `create database ${name} template ${await template}`)
  return databaseOf(server, name)
}

/** The tables of a schema except that of its migrations, in the order in which statements lock them. */
export const tables = ["workspace", "lane", "job", "record", "older_version", "event", "tally"] as const

/** Empties a database's tables. */
export const truncate = (url: string): Promise<unknown> =>
  statements(url, `truncate ${tables.map((table) => `quotewire.${table}`).join(", ")}`)

/** A database with the schema, for as long as the scope lives. */
export const scopedDatabase: Effect.Effect<TestDatabase, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(freshDatabase),
  ({ drop }) => Effect.promise(drop)
)
