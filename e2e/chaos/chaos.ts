import * as Audit from "./Audit.ts"
import * as Chance from "./Chance.ts"
import type { Fault } from "./Faults.ts"
import * as Hosts from "./Hosts.ts"
import * as Moves from "./Moves.ts"
import * as Organization from "./Organization.ts"
import * as Receiver from "./Receiver.ts"
import * as Service from "./Service.ts"
import { settle, stands_still_ms } from "./settle.ts"

/** What is to happen. */
export interface Plan {
  readonly seed: number
  /** How many cells; one database that is no cell unless told. */
  readonly cells?: number
  /** What strikes, one after the other, under load. */
  readonly faults: ReadonlyArray<Fault>
  /** No more faults after this time, in milliseconds; the load ends with the last fault. */
  readonly most_ms: number
  readonly say: (line: string) => void
}

/** What happened. */
export interface Story {
  readonly faults: number
  readonly accepted: number
  readonly events: number
  /** Deliveries that arrived more than once, which is allowed. */
  readonly repeated_deliveries: number
  /** Calls that were sent again because a host or the database was away. */
  readonly repeated_calls: number
  /** From the last fault until every accepted request had come to its end. */
  readonly final_ms: number
  /** From the last fault until every event had arrived at its receiver, too. */
  readonly recovered_ms: number
  /** What was promised and not kept. */
  readonly findings: ReadonlyArray<string>
}

// About twenty starts a second by all lanes: faults are to strike work under way, not a host that cannot keep up.
const between_starts_ms = 50

/** Plays a plan on two hosts and one PostgreSQL, or two for several cells, and judges what has come of it. */
export const play = async (plan: Plan): Promise<Story> => {
  const service = await Service.open({
    hosts: 2,
    durable: true,
    ...(plan.cells !== undefined && { cells: plan.cells })
  })
  const receiver = await Receiver.open()
  try {
    return await strikeUnderLoad(plan, service, receiver)
  } finally {
    receiver.close()
    await service.close()
  }
}

const strikeUnderLoad = async (
  plan: Plan,
  service: Service.Service,
  receiver: Receiver.OpenReceiver
): Promise<Story> => {
  const refused: Array<string> = []
  const organizations = await beginAll(service, receiver, (why) => refused.push(why))
  const [lanes, clock_lanes] = service.cells === null ? [4, 2] : [1, 1]
  const rest_ms = between_starts_ms * lanes * organizations.length
  let over = false
  let last_fault = Date.now()
  const loads = organizations.flatMap((organization, place) =>
    Array.from({ length: lanes }, (_, lane) =>
      Organization.load(organization, Chance.make(plan.seed + place * lanes + lane), lane, rest_ms, () => over)
    )
  )
  const inTime = () => !over || Date.now() - last_fault < stands_still_ms
  const clocks = organizations.flatMap((organization, place) =>
    Array.from({ length: clock_lanes }, (_, lane) =>
      Organization.moveClock(organization, Chance.make(plan.seed + 1_000 + 2 * place + lane), lane, () => over, inTime)
    )
  )
  const moving = Promise.allSettled(clocks)
  const chance = Chance.make(plan.seed)
  const began = Date.now()
  let struck = 0
  try {
    for (const fault of plan.faults) {
      if (Date.now() - began > plan.most_ms) break
      await Hosts.after(200 + chance.below(800))
      const what = await fault(service, chance)
      struck += 1
      plan.say(`${struck} of ${plan.faults.length}: ${what}`)
    }
  } finally {
    over = true
    last_fault = Date.now()
  }
  await Promise.all(loads)
  const moved = await moving
  const outcomes = await Promise.all(organizations.map((organization) => settle(organization, receiver)))
  return {
    faults: struck,
    accepted: outcomes.reduce((sum, { accepted }) => sum + accepted.size, 0),
    events: outcomes.reduce((sum, { feed }) => sum + feed.length, 0),
    repeated_deliveries: [...receiver.received.bodies.values()].reduce((sum, all) => sum + all.length - 1, 0),
    repeated_calls: organizations.reduce((sum, { caller }) => sum + caller.repeats.length, 0),
    final_ms: Math.max(...outcomes.map(({ final_at }) => final_at)) - last_fault,
    recovered_ms: Math.max(...outcomes.map(({ delivered_at }) => delivered_at)) - last_fault,
    findings: [
      ...moved.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : [])),
      ...outcomes.flatMap(Audit.findings),
      ...refused,
      ...(service.cells === null ? [] : await Moves.findings(service, service.cells))
    ]
  }
}

/** So many organizations for each cell at most: chance places them, and may leave a cell without any. */
const max_per_cell = 2

/** Begins two organizations on one database; on cells as many as it takes until each cell has one. */
const beginAll = async (
  { cells, hosts, newKey, outages }: Service.Service,
  receiver: Receiver.OpenReceiver,
  onWrongOutage: (why: string) => void
): Promise<ReadonlyArray<Organization.Organization>> => {
  const base_urls = hosts.map(({ base_url }) => base_url)
  if (cells === null) {
    return [
      await Organization.begin("one", await newKey("one"), base_urls, receiver),
      await Organization.begin("other", await newKey("other"), base_urls, receiver)
    ]
  }
  const organizations: Array<Organization.Organization> = []
  const used = new Set<string>()
  while (used.size < cells.names.length && organizations.length < max_per_cell * cells.names.length) {
    const name = `organization-${organizations.length + 1}`
    const home = { cell: "" }
    const begun = await Organization.begin(name, await newKey(name), base_urls, receiver, (why) => {
      if (!outages.excuse(cells.serversFor(home.cell))) {
        onWrongOutage(`${new Date().toISOString()} A call for ${home.cell} was refused without need: ${why}`)
      }
    })
    home.cell = await cells.find(begun.subscription_id)
    used.add(home.cell)
    organizations.push(begun)
  }
  return organizations
}
