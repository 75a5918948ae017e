import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Change, generateSealKey, Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { runInProcess } from "../packages/cli/test/support/inProcess.ts"
import { scopedDatabase, statements } from "../test/support/TestDatabase.ts"
import { findIn, formsOf, Places, type Sentinels } from "./sentinels/Sentinels.ts"
import { credential, facts, type Place, placeNames, play, server, service, watched } from "./sentinels/Story.ts"

/*
 * Recognizable facts, keys, secrets, handles and credentials go through everything, with a failure at each step. They
 * must not appear, in any form, in any place that the story looks at. A place that has shown nothing also fails.
 */

/** What each place must have shown, so that the search is known to have looked at the right thing. */
const witnesses: Readonly<Record<Place, RegExp>> = {
  "log levels": /^(?=[\s\S]*Info)(?=[\s\S]*Warn)/,
  "log messages": /adapter|carrier/i,
  "log annotations": /carrier_id/,
  "log causes": /Error/,
  spans: /start_quote_request/,
  metrics: /quotewire_requests_total\{.*operation="start_quote_request"/,
  "metric labels": /quotewire_carrier/,
  responses: /"status":"completed"/,
  "headers of responses": /application\/json/,
  refusals: /"code":"not_found"/,
  "URLs in responses": /\/go\//,
  "MCP responses": /structuredContent/,
  events: /quote_request\.completed/,
  "webhook bodies": /quote_request\.queued/,
  "webhook headers": /webhook-signature/,
  "URLs requested of carriers": /\/quotes/,
  "URLs requested of receivers": /\/hooks/,
  storage: /quote_request\.queued[\s\S]*subscription/,
  "CLI output": /quoted/
}

/** Every table of the database, including those of later migrations. */
const allTables = `select format('%I.%I', schemaname, tablename) as table from pg_tables
  where schemaname not in ('pg_catalog', 'information_schema')`

/** A secret without its prefix, which says what it is for. */
const secretPart = (text: string): string =>
  text.replace(/^(?:(?:sandbox|live)_(?:server|platform|widget)|whsec|rh)_/, "")

/** Plays the story on a storage backend, and returns the places and the secrets. */
const story = Effect.fnUntraced(function* <E>(
  storage: Layer.Layer<Storage.Storage, E>,
  seen: Places<Place>,
  sealKey: string
) {
  const acme = yield* server((path, body, headers) => {
    seen.note("URLs requested of carriers", path)
    // A failing carrier repeats everything that it was sent.
    const isFailure = body.includes("three")
    return isFailure
      ? { status: 400, body: JSON.stringify({ headers, body }) }
      : { status: 200, body: JSON.stringify({ number: "A-1", headers, body }) }
  })
  const receiver = yield* server((path, body, headers) => {
    seen.note("URLs requested of receivers", path)
    seen.note("webhook bodies", body)
    seen.note("webhook headers", headers)
    return { status: 500, body: JSON.stringify({ headers, body }) }
  })
  const played = yield* play(seen, receiver.url, sealKey).pipe(
    Effect.provide(Layer.fresh(service(storage, sealKey, acme.url)).pipe(Layer.provideMerge(watched(seen))))
  )
  const sentinels: Sentinels = {
    ...facts,
    "a seal key": sealKey,
    "the bytes of a seal key": Buffer.from(sealKey, "base64").toString("hex"),
    "a server key": secretPart(played.server),
    "a platform key": secretPart(played.platform),
    "a widget key": secretPart(played.widget),
    "a live key": secretPart(played.live),
    "a webhook secret": secretPart(played.signing_secret),
    "a read handle": secretPart(played.handle),
    "a carrier's credential": credential
  }
  return { played, sentinels }
})

/** Fails if a place has shown nothing, or not what it must have; then if a secret was found. Prints where it looked. */
const holds = (seen: Places<Place>, sentinels: Sentinels) => {
  console.info(
    seen
      .list()
      .map(({ characters, place, texts }) => `${place}: ${texts} texts, ${characters} characters`)
      .join("\n")
  )
  for (const { characters, place } of seen.list()) {
    assert.isAbove(characters, 0, `Nothing was seen in ${place}`)
    assert.isTrue(witnesses[place].test(seen.textOf(place)), `${place} has not shown ${witnesses[place]}`)
  }
  for (const [name, secret] of Object.entries(sentinels)) assert.isAbove(secret.length, 8, name)
  assert.deepStrictEqual(seen.findings(sentinels), [])
}

describe("secrets", () => {
  it("are found by this test's search in every encoded form", () => {
    const secret = "Sentinel+cr3dential/ä=="
    for (const [form, text] of Object.entries(formsOf(secret))) {
      assert.isNotEmpty(findIn({ secret }, `before ${text} after`), form)
      assert.isNotEmpty(findIn({ secret }, `x${text}y`), form)
    }
    for (const before of ["", "a", "ab", "abc"]) {
      const encoded = Buffer.from(`${before}${secret} and more`).toString("base64")
      assert.isNotEmpty(findIn({ secret }, encoded), before)
    }
    assert.deepStrictEqual(findIn({ secret }, "Sentinel"), [])
  })

  it.live("never appear in logs, errors, metrics, spans, URLs, events, webhooks, responses or memory", () =>
    Effect.gen(function* () {
      const seen = new Places<Place>(placeNames)
      const noting = Layer.effect(
        Storage.Storage,
        Effect.map(Storage.Storage, (storage) => ({
          ...storage,
          commit: (change: Change.Change) => {
            const writes = change.writes.map((record) => Change.record({ ...record, body: record.body }))
            seen.note("storage", { ...change, writes })
            return storage.commit({ ...change, writes })
          }
        }))
      ).pipe(Layer.provide(MemoryStorage.layer))
      const { sentinels } = yield* story(noting, seen, generateSealKey())
      holds(seen, sentinels)
    }).pipe(Effect.scoped)
  )

  it.live("appear in no PostgreSQL table and in no command's output", () =>
    Effect.gen(function* () {
      const seen = new Places<Place>([...placeNames, "CLI output"])
      const { options, url } = yield* scopedDatabase
      const sealKey = generateSealKey()
      const { played, sentinels } = yield* story(PgStorage.layer(options), seen, sealKey)
      const tables = yield* Effect.promise(() => statements(url, allTables))
      for (const { table } of tables) {
        const rows = yield* Effect.promise(() => statements(url, `select to_json(t)::text as row from ${table} t`))
        seen.note("storage", ...rows.map(({ row }) => `${table} ${row}`))
      }
      const config = fileURLToPath(new URL("../packages/cli/test/support/connections.config.ts", import.meta.url))
      const env = { QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: sealKey, QUOTEWIRE_CONFIG: config }
      const organization = ["--organization", played.organization_id]
      const commands = [
        ["requests", "show", played.request],
        ["organizations", "list"],
        ["keys", "list", ...organization],
        ["connections", "list", ...organization],
        ["connections", "test", ...organization, "--carrier", "naic:12345", "--environment", "sandbox"],
        ["carriers", "status"],
        ["consumers", "list"],
        ["seal", "status"],
        ["erase", played.request, "--by", "ticket 4711", "--dry-run"]
      ]
      for (const command of commands) {
        for (const form of [[], ["--json"]]) {
          const { err, out } = yield* runInProcess([...command, ...form], env)
          assert.notStrictEqual(out + err, "", command.join(" "))
          seen.note("CLI output", out, err)
        }
      }
      const wrong = yield* runInProcess(["seal", "rotate"], { ...env, QUOTEWIRE_SEAL_KEYS: generateSealKey() })
      seen.note("CLI output", wrong.out, wrong.err)
      holds(seen, sentinels)
    }).pipe(Effect.scoped)
  )
})
