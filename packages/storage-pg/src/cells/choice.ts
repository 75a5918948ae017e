import type { Cell, Ids } from "@quotewire/core"

/** Hashes a text to a number from 0 to 1, evenly distributed. */
const fractionOf = (text: string): number => {
  // FNV-1a, and a last step that spreads its high bits (from MurmurHash3).
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/**
 * Chooses the cell for a new workspace. Each cell gets a share in proportion to its `room`. Null if no cell has room.
 *
 * It depends on the workspace and the list alone, so hosts that place the same workspace at once choose the same cell.
 */
export const chooseCell = (cells: ReadonlyArray<Cell.Cell>, workspace_id: Ids.WorkspaceId): string | null => {
  const all = cells.reduce((sum, { room }) => sum + room, 0)
  let place = fractionOf(workspace_id) * all
  for (const { name, room } of cells) {
    if (place < room) return name
    place -= room
  }
  return null
}
