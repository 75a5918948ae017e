import type { CellPlaces } from "./CellPlaces.ts"
import type * as Chance from "./Chance.ts"
import type { Ended } from "./Commands.ts"
import type { Fault, Strike } from "./Fault.ts"
import { after } from "./Hosts.ts"
import type { Lock } from "./Lock.ts"
import type { Server } from "./Server.ts"
import { crash, toServer } from "./ServerFaults.ts"
import type { Service } from "./Service.ts"

/** A command that fails this often cannot succeed. */
const maxRuns = 30

/** What is killed while a cell moves, and after which text in the command's output. */
const victims = ["mover", "source", "target"] as const
const steps = ["", "Copying", "Following", "Switched"] as const

interface Kill {
  readonly victim: (typeof victims)[number]
  readonly step: (typeof steps)[number]
}

/** A move in progress. */
interface Move {
  readonly service: Service
  readonly chance: Chance.Chance
  readonly name: string
  readonly source: Server
  readonly target: Server
}

/**
 * Moves a cell to a different server as the guide tells operators to, and kills the command or a server at one step.
 * Then reruns the command until the cell has moved or, sometimes, undoes the move.
 */
const moveCell =
  (kill: Kill | null): Strike =>
  async (service, chance) => {
    const { cells, servers } = service
    const [first] = cells?.names ?? []
    if (cells === null || first === undefined) throw new Error("A service on one database has no cell to move")
    const name = chance.pick([first, ...cells.names.slice(1)])
    const from = cells.serverOf(name)
    const to = (from + 1) % servers.length
    const [source = servers[0], target = servers[0]] = [servers[from], servers[to]]
    await cells.beginMove(name, to)
    await restartHosts(service)
    const { ending, told } = await run({ service, chance, name, source, target }, kill)
    const drop = cells.endMove(name, ending)
    await restartHosts(service)
    await drop()
    return `move of ${name}, ${ending} after ${told.join(", ")}`
  }

/** Restarts hosts and consumers one by one, so that they reread the cells file. */
const restartHosts = async ({ consumers, hosts, outages }: Service): Promise<void> => {
  for (const host of hosts) {
    await host.lock.alone(async () => {
      // Interrupts its last long calls, such as a clock advance.
      await outages.of(null, () => host.stop(), 200)
      await host.revive()
    })
  }
  for (const consumer of consumers?.processes ?? []) await consumer.lock.alone(consumer.kill)
}

interface Outcome {
  readonly ending: "moved" | "undone"
  readonly told: ReadonlyArray<string>
}

/** Runs the command and kills the victim at the given step. */
const runAndKill = async ({ chance, name, service, source, target }: Move, { step, victim }: Kill): Promise<Ended> => {
  const running = service.command("cells", "move", name)
  await running.says(step)
  await after(chance.below(step === "" ? 3_000 : 150))
  if (victim === "mover") running.kill()
  else await toServer(service, victim === "source" ? source : target, (server) => crash(server, chance))
  return running.ended
}

const runOrUndo = (move: Move, isUndoing: boolean): Promise<Ended> =>
  isUndoing ? undo(move) : move.service.command("cells", "move", move.name).ended

/**
 * Undoes a move while no fault affects a server or a link. An undo that cannot reach a server leaves objects there for
 * manual cleanup.
 */
const undo = ({ name, service: { command, servers } }: Move): Promise<Ended> => {
  const alone = ([first, ...others]: ReadonlyArray<Lock>): Promise<Ended> =>
    first === undefined ? command("cells", "move", name, "--undo").ended : first.alone(() => alone(others))
  return alone(servers.flatMap(({ links, lock }) => [lock, links]))
}

/** Runs the command until the cell has moved, or the move is undone. */
const run = async (move: Move, kill: Kill | null): Promise<Outcome> => {
  const { chance, name } = move
  const told: Array<string> = []
  let isUndoing: boolean = false
  const isToBeUndone = kill !== null && chance.next() < 0.25
  for (let runs = 1; runs <= maxRuns; runs++) {
    const isKilled = runs === 1 && kill !== null
    const { code, err } = isKilled ? await runAndKill(move, kill) : await runOrUndo(move, isUndoing)
    const last: string = err.trim().split("\n").at(-1) ?? ""
    told.push(code === 0 ? "success" : code === null ? `a kill at "${last}"` : `"${last}"`)
    if (code === 0) return { ending: isUndoing ? "undone" : "moved", told }
    isUndoing = isToBeUndone && !last.includes("is decided")
    await after(chance.below(500))
  }
  throw new Error(`${name} could not be moved: ${told.join(", ")}`)
}

/** Moves of a cell: undisturbed, and with one of the three victims killed at each step. */
export const moves: ReadonlyArray<Fault> = [
  { name: "cell moved", strikes: "cell", needs: "cells", strike: moveCell(null) },
  ...victims.flatMap((victim) =>
    steps.map(
      (step): Fault => ({
        name: `cell moved, ${victim} killed ${step === "" ? "at its beginning" : `at "${step}"`}`,
        strikes: "cell",
        needs: "cells",
        strike: moveCell({ victim, step })
      })
    )
  )
]

/** What is wrong with the cells after all moves have ended. */
export const findings = async (service: Service, cells: CellPlaces): Promise<ReadonlyArray<string>> => {
  const { code, err, out } = await service.command("cells", "check").ended
  const left = await cells.leftBehind()
  return [
    ...(code === 0 ? [] : [`quotewire cells check has ended with ${code}: ${err} ${out}`]),
    ...left.map((name) => `${name} was left behind by a move`)
  ]
}
