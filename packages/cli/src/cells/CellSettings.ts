import type { PgCells } from "@quotewire/storage-pg"
import { Effect, type FileSystem, Option, type Path } from "effect"
import { Argument } from "effect/cli"
import * as CellsFile from "../CellsFile.ts"
import { WrongUsage } from "../CommandErrors.ts"
import { json, settingError } from "../Settings.ts"
import * as StorageSettings from "../StorageSettings.ts"

/** The flags of every command about cells. */
export const settings = { cells: StorageSettings.cells, json }

/** The values of these flags. */
export interface Settings extends Pick<StorageSettings.DatabaseSettings, "cells"> {
  readonly json: boolean
}

/** The cell that a command is about. */
export const name = Argument.String("name").pipe(Argument.withDescription("Name of the cell, as in the file of cells"))

/** Reads the cells from the file that `--cells` names. */
export const cellsOf = ({
  cells
}: Pick<Settings, "cells">): Effect.Effect<PgCells.AllCells, WrongUsage, FileSystem.FileSystem | Path.Path> =>
  Option.match(cells, {
    onNone: () => Effect.fail(new WrongUsage({ message: `${settingError("cells", "be set")}.` })),
    onSome: CellsFile.read
  })
