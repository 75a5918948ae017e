import { assert, describe, it } from "@effect/vitest"
import { generateSealKey } from "@quotewire/core"
import { Effect } from "effect"
import { runInProcess } from "./support/inProcess.ts"

const url = "postgres://quotewire@127.0.0.1:1/none"
const sealKeys = generateSealKey()

/** What a command prints about wrong usage. */
const saidTo = (args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  Effect.map(runInProcess(args, env), ({ err, how, out }) => {
    assert.deepStrictEqual([how, out], ["wrong usage", ""], err)
    return err
  })

const database = "QUOTEWIRE_DATABASE_URL (or --database-url, or --cells for several databases)"
const seal = "QUOTEWIRE_SEAL_KEYS (or --seal-keys)"
const make = "create a seal key with: openssl rand -base64 32"
const organization = "--organization (or QUOTEWIRE_ORGANIZATION)"

describe("missing settings", () => {
  const cases: ReadonlyArray<readonly [args: ReadonlyArray<string>, env: Record<string, string>, said: string]> = [
    [["serve"], {}, `Set ${database} and ${seal}; ${make}. See quotewire serve --help.`],
    [["serve"], { QUOTEWIRE_CELLS: "cells.json" }, `Set ${seal}; ${make}. See quotewire serve --help.`],
    [["serve"], { QUOTEWIRE_SEAL_KEYS: sealKeys }, `Set ${database}. See quotewire serve --help.`],
    [["migrate"], {}, `Set ${database}. See quotewire migrate --help.`],
    [
      ["work"],
      {},
      `Set --base-url (or QUOTEWIRE_BASE_URL), ${database}, and ${seal}; ${make}. See quotewire work --help.`
    ],
    [
      ["keys", "create"],
      {},
      [
        "--environment and --kind are required.",
        `Set ${organization} and ${database}.`,
        "See quotewire keys create --help."
      ].join("\n")
    ],
    [
      ["keys", "revoke"],
      {},
      ["<key_id> is required.", `Set ${database}.`, "See quotewire keys revoke --help."].join("\n")
    ],
    [
      ["events", "list"],
      {},
      "Set QUOTEWIRE_API_KEY (or --api-key); or save a key with: quotewire login. See quotewire events list --help."
    ],
    [["requests", "show", `qreq_${"0".repeat(26)}`], {}, `quotewire: For qreq_…: Set ${database} and ${seal}; ${make}.`]
  ]
  for (const [args, env, said] of cases) {
    const given = Object.keys(env).join()
    it.effect(
      `are all listed in one message: ${args.slice(0, 2).join(" ")}${given === "" ? "" : ` with ${given}`}`,
      () =>
        Effect.gen(function* () {
          assert.strictEqual(yield* saidTo(args, env), said)
        })
    )
  }
})

describe("wrong settings", () => {
  it.effect("are all listed in one message, without their values", () =>
    Effect.gen(function* () {
      const said = yield* saidTo(["serve", "--port", "Zq7x", "--webhook-allow", "Zq7x"], {
        QUOTEWIRE_SEAL_KEYS: "Zq7x",
        QUOTEWIRE_LOG_FORMAT: "Zq7x",
        QUOTEWIRE_DATABASE_URL: "Zq7x"
      })
      const lines = said.split("\n").map((line) => line.split(" must ")[0])
      assert.sameMembers(lines, [
        "--port (or QUOTEWIRE_PORT)",
        "--log-format (or QUOTEWIRE_LOG_FORMAT)",
        "--webhook-allow (or QUOTEWIRE_WEBHOOK_ALLOW)",
        "--database-url (or QUOTEWIRE_DATABASE_URL)",
        "--seal-keys (or QUOTEWIRE_SEAL_KEYS)",
        "See quotewire serve --help."
      ])
      assert.notInclude(said, "Zq7x")
    })
  )

  it.effect("are listed together with a wrong argument", () =>
    Effect.gen(function* () {
      const said = yield* saidTo(["keys", "revoke", "Zq7x"], { QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_JSON: "Zq7x" })
      assert.match(said, /^<key_id> must be .*\n--json .*\nSee quotewire keys revoke --help\.$/)
      assert.notInclude(said, "Zq7x")
    })
  )

  it.effect("are listed with the closest known flag for each unknown flag", () =>
    Effect.gen(function* () {
      const said = yield* saidTo(["migrate", "--jso", "--databse-url", url])
      assert.include(said, "the closest is --json")
      assert.include(said, "the closest is --database-url")
    })
  )
})
