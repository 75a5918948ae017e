import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"

/** The path of a folder that does not exist yet. Whatever is there at the end of the test is removed. */
export const temporaryFolder = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "quotewire-"))),
    (parent) => Effect.sync(() => rmSync(parent, { recursive: true, force: true }))
  ),
  (parent) => join(parent, "data")
)
