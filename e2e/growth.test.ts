import { assert, layer } from "@effect/vitest"
import type { Storage } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect, type Layer, Redacted } from "effect"
import { emptyOn, TwoServers } from "../packages/storage-pg/test/support/moves.ts"
import { http, start } from "./host.ts"
import { underLoad } from "./support/underLoad.ts"

const newHost = <E>(storage: Layer.Layer<Storage.Storage, E>) => start(http(storage, { drain_ms: 1_000 }))

/** Two hosts that are replaced one by one. `rotation` has those that receive calls, as in a load balancer. */
const hostsOn = Effect.fnUntraced(function* (url: Redacted.Redacted<string>) {
  let hosts = [yield* newHost(PgStorage.layer({ url })), yield* newHost(PgStorage.layer({ url }))] as const
  const rotation = hosts.map(({ base_url }) => base_url)
  const replace = Effect.fnUntraced(function* (leaving: (typeof hosts)[0], cells: PgCells.AllCells) {
    const arriving = yield* newHost(PgCells.layer(cells))
    rotation.splice(rotation.indexOf(leaving.base_url), 1, arriving.base_url)
    yield* leaving.stop
    return arriving
  })
  return {
    rotation,
    newOrganization: Effect.suspend(() => hosts[0].newOrganization),
    /** Gives all hosts a new cells file. */
    restart: Effect.fnUntraced(function* (cells: PgCells.AllCells) {
      hosts = [yield* replace(hosts[0], cells), yield* replace(hosts[1], cells)]
    })
  }
})

const settings = Effect.gen(function* () {
  const [one, other] = yield* TwoServers
  const url = Redacted.make(yield* emptyOn(one))
  const second = Redacted.make(yield* emptyOn(other))
  const others: ReadonlyArray<PgCells.CellOptions> = [
    { name: "eu-2", url: second },
    { name: "eu-3", url: second, schema: "eu_3" },
    { name: "eu-4", url: Redacted.make(yield* emptyOn(one)) }
  ]
  return { url, moves_to: Redacted.make(yield* emptyOn(other)), others }
})

layer(TwoServers.layer, { excludeTestServices: true, timeout: "60 seconds" })("growth", (it) => {
  it.effect(
    "a service grows from one database to four cells under load, and loses nothing",
    () =>
      Effect.gen(function* () {
        const { moves_to, others, url } = yield* settings
        yield* PgStorage.migrate({ url })
        const { newOrganization, restart, rotation } = yield* hostsOn(url)
        const { server } = yield* newOrganization
        const { findings, more } = yield* underLoad(rotation, server)
        yield* more

        const four: PgCells.AllCells = [{ name: "eu-1", url }, ...others]
        yield* restart(four)
        yield* more
        for (const { name } of others) yield* PgCells.add(four, name, 1)
        for (let made = 0; made < 4; made++) yield* newOrganization
        assert.isAbove((yield* PgCells.report(four)).filter(({ workspaces }) => workspaces > 0).length, 1)

        yield* restart([{ name: "eu-1", url, moves_to }, ...others])
        yield* more
        assert.strictEqual(yield* PgCells.move([{ name: "eu-1", url, moves_to }, ...others], "eu-1"), "moved")
        yield* more
        yield* restart([{ name: "eu-1", url: moves_to }, ...others])
        yield* more
        assert.deepStrictEqual(yield* findings, [])
      }),
    120_000
  )
})
