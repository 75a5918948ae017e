import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"
import { root } from "./support/sources.ts"
import { emptyDatabase } from "./support/TestDatabase.ts"

const program = `
import { embed } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { postgres } from "@quotewire/storage-pg"

const seal_key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64")
const quotewire = embed({ storage: postgres({ url: process.argv[2], migrate: true }), seal_keys: [seal_key] })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)
const application = ExampleApplications.smallest.renters
const { id } = await client.start_quote_request({ line: "renters", request_key: "1", consent_receipt_id: "receipt-0001", application })
await client.advance_time({ seconds: 60 }, { idempotency_key: "1" })
console.log((await client.get_quote_request({ id })).quote_request.status)
await quotewire.close()`

describe("a program bundled into one file", () => {
  it("completes a quote request on PostgreSQL without any other packages", async () => {
    const database = await emptyDatabase()
    const folder = mkdtempSync(join(tmpdir(), "quotewire-bundle-"))
    try {
      const outfile = join(folder, "program.mjs")
      const stdin = { contents: program, resolveDir: root }
      await build({ stdin, bundle: true, platform: "node", format: "esm", outfile })
      const { stdout } = await promisify(execFile)(process.execPath, [outfile, database.url], { cwd: folder })
      assert.strictEqual(stdout.trim(), "completed")
    } finally {
      rmSync(folder, { recursive: true, force: true })
      await database.drop()
    }
  })
})
