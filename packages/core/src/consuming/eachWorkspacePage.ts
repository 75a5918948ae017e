import { Effect } from "effect"
import { directoryWorkspace, type Storage } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** The number of workspaces on a page. */
const pageSize = 100

/**
 * Reads the IDs of all workspaces in a storage backend or a cell, except the directory, page by page. Passes each page
 * to `onPage` before it reads the next one.
 */
export const eachWorkspacePage = Effect.fnUntraced(function* <E, R>(
  storage: Pick<Storage["Service"], "workspaces">,
  onPage: (ids: ReadonlyArray<WorkspaceId>) => Effect.Effect<unknown, E, R>
) {
  let after: WorkspaceId | null = null
  do {
    const page: ReadonlyArray<WorkspaceId> = yield* storage.workspaces(after, pageSize)
    yield* onPage(page.filter((id) => id !== directoryWorkspace))
    after = page.length < pageSize ? null : (page.at(-1) ?? null)
  } while (after !== null)
})
