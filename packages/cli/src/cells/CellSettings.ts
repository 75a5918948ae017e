import type { PgCells } from "@quotewire/storage-pg/cells"
import type { Effect, FileSystem, Path } from "effect"
import { Argument } from "effect/cli"
import * as CellsFile from "../service/CellsFile.ts"
import type { WrongUsage } from "../settings/CommandErrors.ts"
import { json } from "../settings/Settings.ts"
import * as StorageSettings from "../settings/StorageSettings.ts"

/** The flags that all commands about cells share. */
export const flags = { cells: StorageSettings.cells, json }

/** The parsed values of `flags`. */
export interface Settings {
  readonly cells: string
  readonly json: boolean
}

/** The name of the cell that a command acts on. */
export const nameArgument = Argument.String("name").pipe(Argument.withDescription("Name of the cell in the cells file"))

/** Reads the cells from the file that `--cells` names. */
export const cellsOf = ({
  cells
}: Pick<Settings, "cells">): Effect.Effect<PgCells.AllCells, WrongUsage, FileSystem.FileSystem | Path.Path> =>
  CellsFile.read(cells)
