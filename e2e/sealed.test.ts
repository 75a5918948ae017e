import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { World } from "@quotewire/core/testing"
import { NodeCrypto } from "@quotewire/http"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect } from "effect"
import { everyLine, personalTexts } from "../packages/core/test/access/persons.ts"
import { folderVariable } from "../test/support/PostgresServer.ts"
import { scopedDatabase, statements, tables } from "../test/support/TestDatabase.ts"

/** All rows of a database, as text. */
const dumpOf = async (url: string) => {
  const rows = await Promise.all(
    tables.map((table) => statements(url, `select row_to_json(one)::text as text from quotewire.${table} one`))
  )
  return rows
    .flat()
    .map(({ text }) => String(text))
    .join("\n")
}

/** The log of the run's own server; null if the server is not ours. */
const serverLog = (): string | null => {
  const folder = process.env[folderVariable]
  if (process.env.QUOTEWIRE_TEST_DATABASE_URL !== undefined || folder === undefined) return null
  return readFileSync(join(folder, "server/log"), "utf8")
}

describe("PostgreSQL", () => {
  it.live("stores and logs no readable facts about a person", () =>
    Effect.gen(function* () {
      const database = yield* scopedDatabase
      const name = new URL(database.url).pathname.slice(1)
      yield* Effect.promise(() => statements(database.url, `alter database ${name} set log_statement = 'all'`))
      const { secrets, quotes } = yield* Effect.provide(
        everyLine,
        World.World.layer(PgStorage.layer(database.options), { cryptography: NodeCrypto.layer })
      )
      assert.isTrue(quotes.some(({ coverage }) => coverage.subjects.some(({ label }) => label === "Wuschelbart")))
      const dump = yield* Effect.promise(() => dumpOf(database.url))
      for (const part of ['"kind":"quote"', '"kind":"offer"', '"version":2']) assert.include(dump, part)
      for (const secret of [...secrets, "receipt-secret", ...personalTexts]) assert.notInclude(dump, secret)
      const log = serverLog()
      if (log === null) return
      assert.include(log, "quotewire.commit_1")
      for (const secret of [...secrets, "receipt-secret", ...personalTexts]) assert.notInclude(log, secret)
    })
  )
})
