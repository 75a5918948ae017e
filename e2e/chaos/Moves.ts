import type { CellPlaces } from "./CellPlaces.ts"
import * as Chance from "./Chance.ts"
import type { Ended, Running } from "./Commands.ts"
import { endConnections, type Fault, killHost, restartDatabase } from "./Faults.ts"
import { after } from "./Hosts.ts"
import type { Service } from "./Service.ts"

/** A command that fails as often cannot do its work. */
const max_runs = 30

/** What strikes while a cell moves. */
const companions = [null, null, killHost, endConnections, restartDatabase] as const

/** Moves a cell to another server as the guide tells operators to: the command may be killed and taken up again, or undone. */
export const moveCell: Fault = async (service, chance) => {
  const { cells, servers } = service
  const [name] = cells?.names ?? []
  if (cells === null || name === undefined) throw new Error("A service on one database has no cell to move")
  const moving = chance.pick([name, ...cells.names.slice(1)])
  await cells.beginMove(moving, (cells.serverOf(moving) + 1) % servers.length)
  await restartHosts(service)
  const striking = strike(service, Chance.make(chance.below(1e9)))
  const [outcome, struck] = await Promise.all([run(service, chance, moving, striking), striking])
  const drop = cells.endMove(moving, outcome.ending)
  await restartHosts(service)
  await drop()
  return `move of ${moving}, ${outcome.ending} after ${outcome.told.join(", ")}; meanwhile: ${struck}`
}

const strike: Fault = async (service, chance) => {
  const companion = chance.pick(companions)
  if (companion === null) return "nothing else"
  await after(chance.below(5_000))
  return companion(service, chance)
}

/** Restarts the hosts one by one, so that they read the file of cells again. */
const restartHosts = async ({ hosts, outages }: Service): Promise<void> => {
  for (const host of hosts) {
    // Its last long calls, such as an advance, are interrupted.
    await outages.of(null, () => host.stop(), 200)
    await host.start()
  }
}

interface Outcome {
  readonly ending: "moved" | "undone"
  readonly told: ReadonlyArray<string>
}

/** When a command is killed: after it has said something, and some milliseconds more. */
const moments = ["", "Copying", "Following", "Following", "Switched"] as const

const killed = async (running: Running, chance: Chance.Chance): Promise<Ended> => {
  const moment = chance.pick(moments)
  const more_ms = chance.below(moment === "" ? 3_000 : 150)
  await running.says(moment)
  await after(more_ms)
  running.kill()
  return running.ended
}

/** Runs the command until the cell has moved, or the move is undone, when nothing else strikes any more. */
const run = async (
  { command }: Service,
  chance: Chance.Chance,
  name: string,
  striking: Promise<unknown>
): Promise<Outcome> => {
  const told: Array<string> = []
  const isToBeUndone = chance.next() < 0.25
  let kills = chance.below(3) + (isToBeUndone ? 1 : 0)
  let isUndoing = false
  for (let runs = 1; runs <= max_runs; runs++) {
    const running = command("cells", "move", name, ...(isUndoing ? ["--undo"] : []))
    const { code, err } = kills > 0 ? await killed(running, chance) : await running.ended
    kills -= 1
    const last = err.trim().split("\n").at(-1) ?? ""
    told.push(code === 0 ? "success" : code === null ? `a kill at "${last}"` : `"${last}"`)
    if (code === 0) return { ending: isUndoing ? "undone" : "moved", told }
    isUndoing = isToBeUndone && kills <= 1 && !last.includes("is decided")
    await after(chance.below(500))
    // If the new server is away, an undo leaves what is there to people.
    if (isUndoing) await striking
  }
  throw new Error(`${name} could not be moved: ${told.join(", ")}`)
}

/** What is wrong with the cells when nothing moves any more. */
export const findings = async (service: Service, cells: CellPlaces): Promise<ReadonlyArray<string>> => {
  const { code, err, out } = await service.command("cells", "check").ended
  const left = await cells.leftBehind()
  return [
    ...(code === 0 ? [] : [`quotewire cells check has ended with ${code}: ${err} ${out}`]),
    ...left.map((name) => `${name} was left behind by a move`)
  ]
}
