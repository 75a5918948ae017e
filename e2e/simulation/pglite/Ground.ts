import { Exit } from "effect"
import type { Ground } from "../play.ts"
import * as World from "../World.ts"
import * as Database from "./Database.ts"
import * as Server from "./Server.ts"

/** A server on which one story after another can be played. */
export interface Started {
  /** Empties the storage for the next story. The previous one must have ended. */
  readonly ground: () => Ground
  readonly close: () => Promise<void>
}

/** Starts PGlite, with the organizations that exist before every story. */
export const start = async (): Promise<Started> => {
  const database = await Server.start()
  const server = Server.make(database)
  let created: Exit.Exit<World.Workspaces, unknown> | null = null
  World.create(Database.direct(server, World.beginsAt), (exit) => {
    created = exit
  })
  const workspaces = createdOf(created)
  server.keep()
  return {
    ground: () => {
      server.restore()
      return { storage: Database.open(server), workspaces, texts: server.texts }
    },
    close: () => database.close()
  }
}

const createdOf = (created: Exit.Exit<World.Workspaces, unknown> | null): World.Workspaces => {
  if (created !== null && Exit.isSuccess(created)) return created.value
  throw new Error(`The organizations could not be created: ${created?.cause}`)
}
