import type { Cell, Ids } from "@quotewire/core"

/** Hashes a text to an evenly distributed number from 0 to 1. */
const fractionOf = (text: string): number => {
  // FNV-1a, followed by the final step of MurmurHash3, which mixes the high bits.
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/**
 * Chooses the cell for a new workspace. Each cell gets a share of new workspaces in proportion to its `room`. Null if
 * no cell has room.
 *
 * The choice depends only on the workspace and the list of cells, so hosts that place the same workspace concurrently
 * choose the same cell.
 */
export const chooseCell = (cells: ReadonlyArray<Cell.Cell>, workspaceId: Ids.WorkspaceId): string | null => {
  const allRoom = cells.reduce((sum, { room }) => sum + room, 0)
  let position = fractionOf(workspaceId) * allRoom
  for (const { name, room } of cells) {
    if (position < room) return name
    position -= room
  }
  return null
}
