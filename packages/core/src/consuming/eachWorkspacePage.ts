import { Effect } from "effect"
import { directoryWorkspace, type Storage } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** How many workspaces one page has. */
const pageSize = 100

/**
 * Reads the IDs of all workspaces in a storage or a cell, except the directory, page by page. Each page is used before
 * the next one is read.
 */
export const eachWorkspacePage = Effect.fnUntraced(function* <E, R>(
  storage: Pick<Storage["Service"], "workspaces">,
  use: (ids: ReadonlyArray<WorkspaceId>) => Effect.Effect<unknown, E, R>
) {
  let after: WorkspaceId | null = null
  do {
    const page: ReadonlyArray<WorkspaceId> = yield* storage.workspaces(after, pageSize)
    yield* use(page.filter((id) => id !== directoryWorkspace))
    after = page.length < pageSize ? null : (page.at(-1) ?? null)
  } while (after !== null)
})
