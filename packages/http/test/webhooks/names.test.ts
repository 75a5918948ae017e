import { assert, describe, it } from "@effect/vitest"
import { WebhookAddress } from "@quotewire/core"
import { Effect } from "effect"
import { NetAddress } from "effect/net"
import * as Certificate from "../../../../test/support/certificate.ts"
import { until } from "../../../../test/support/eventually.ts"
import * as Endpoint from "./support/endpoint.ts"
import * as NameServer from "./support/nameServer.ts"
import { allowing, make, outcome, request } from "./support/sender.ts"

const { a, aaaa } = NameServer
const name = "hooks.example.com"
const certificate = Certificate.make(name)
/** The one local address that counts as public. */
const open = a("127.0.0.1")

/** A sender with its own name server, and an endpoint at 127.0.0.1 that the name may resolve to. */
const start = (zone: NameServer.Zone, look_up_limit_ms = 5_000) =>
  Effect.gen(function* () {
    const names = yield* NameServer.start(zone)
    const endpoint = yield* Endpoint.start(Endpoint.answer(200), { certificate })
    const sender = yield* make({
      resolver: names.resolver,
      certificate_authorities: [certificate.cert],
      look_up_limit_ms
    })
    const url = `https://${name}:${endpoint.port}/hook`
    const send = Effect.map(sender.send(request(url)), outcome)
    return { names, endpoint, sender, url, send, lookUp: sender.lookUp(url) }
  })

const only4 =
  (reply: NameServer.Reply): NameServer.Zone =>
  (_name, type) =>
    type === "A" ? reply : []
const only6 =
  (reply: NameServer.Reply): NameServer.Zone =>
  (_name, type) =>
    type === "AAAA" ? reply : []
const alias = (from: string, to: string): NameServer.Record => ({ type: "CNAME", name: from, data: to })
const chain = Array.from({ length: 20 }, (_, i) => alias(i === 0 ? name : `c${i}.example.com`, `c${i + 1}.example.com`))

describe("a webhook URL's host name", () => {
  it.live("is resolved as a fully qualified name, and is used for TLS and the Host header", () =>
    Effect.gen(function* () {
      const { names, endpoint, send, lookUp } = yield* start(only4(open))
      assert.strictEqual(yield* lookUp, "public")
      assert.deepStrictEqual(yield* send, [200, null])
      assert.strictEqual(endpoint.requests[0]?.servername, name)
      assert.strictEqual(endpoint.requests[0]?.headers.get("host"), `${name}:${endpoint.port}`)
      assert.deepStrictEqual(new Set(names.queries), new Set([`A ${name}`, `AAAA ${name}`]))
    }).pipe(Effect.scoped)
  )

  const refused: { readonly [what: string]: NameServer.Zone } = {
    "a private address": only4(a("10.0.0.1")),
    "a loopback address": only4(a("127.0.0.2")),
    "a cloud metadata address": only4(a("169.254.169.254")),
    "public and private addresses": only4(a("127.0.0.1", "10.0.0.1")),
    "a private address in the other address family": (_name, type) => (type === "A" ? open : aaaa("fd00::1")),
    "a private IPv6 address": only6(aaaa("::1")),
    "an IPv4-mapped IPv6 address": only6(aaaa("::ffff:5db8:d822")),
    "a NAT64 address": only6(aaaa("64:ff9b::a9fe:a9fe")),
    "too many addresses": only4(a(...Array.from({ length: 33 }, (_, i) => `127.0.0.${i % 2 ? 1 : 1}`))),
    "a thousand addresses": only4(a(...Array.from({ length: 1_000 }, () => "127.0.0.1"))),
    "an alias of a private address": only4([
      alias(name, "b.example.com"),
      { type: "A", name: "b.example.com", data: "10.0.0.1" }
    ]),
    "a chain of twenty aliases to a private address": only4([
      ...chain,
      { type: "A", name: "c20.example.com", data: "10.0.0.1" }
    ])
  }
  for (const [what, zone] of Object.entries(refused)) {
    it.live(`is refused if it resolves to ${what}`, () =>
      Effect.gen(function* () {
        const { endpoint, send, lookUp } = yield* start(zone)
        assert.strictEqual(yield* lookUp, "refused")
        assert.deepStrictEqual(yield* send, [null, "refused_address"])
        assert.strictEqual(endpoint.connections().all, 0)
      }).pipe(Effect.scoped)
    )
  }

  const nowhere: { readonly [what: string]: NameServer.Zone } = {
    "does not exist": () => "nxdomain",
    "has no address": () => [],
    "is an alias of localhost": () => [alias(name, "localhost")],
    "is an alias of a missing name": () => [alias(name, "metadata.google.internal")]
  }
  for (const [what, zone] of Object.entries(nowhere)) {
    it.live(`is refused if it ${what}`, () =>
      Effect.gen(function* () {
        const { send, lookUp } = yield* start(zone)
        assert.strictEqual(yield* lookUp, "refused")
        assert.deepStrictEqual(yield* send, [null, "dns_failed"])
      }).pipe(Effect.scoped)
    )
  }

  const unavailable: { readonly [what: string]: NameServer.Zone } = {
    "gets no response": () => "silent",
    "causes a name server failure": () => "servfail",
    "lacks one address family and gets no response for the other": (_name, type) => (type === "A" ? [] : "silent")
  }
  for (const [what, zone] of Object.entries(unavailable)) {
    it.live(`is resolved again at the next attempt if the first lookup ${what}`, () =>
      Effect.gen(function* () {
        const { names, send, lookUp } = yield* start(zone, 100)
        assert.strictEqual(yield* lookUp, "unavailable")
        assert.deepStrictEqual(yield* send, [null, "dns_failed"])
        names.say(only4(open))
        assert.deepStrictEqual(yield* send, [200, null])
      }).pipe(Effect.scoped)
    )
  }

  it.live("causes dns_failed if its aliases are circular", () =>
    Effect.gen(function* () {
      const { endpoint, send, lookUp } = yield* start(() => [
        alias(name, "b.example.com"),
        alias("b.example.com", name)
      ])
      assert.notStrictEqual(yield* lookUp, "public")
      assert.strictEqual((yield* send)[1], "dns_failed")
      assert.strictEqual(endpoint.connections().all, 0)
    }).pipe(Effect.scoped)
  )

  it.live("causes dns_failed if the name server does not answer before the deadline", () =>
    Effect.gen(function* () {
      const { sender, url } = yield* start(() => "silent")
      assert.deepStrictEqual(outcome(yield* sender.send(request(url, 50))), [null, "dns_failed"])
    }).pipe(Effect.scoped)
  )

  it.live("is resolved even if the name server answers for only one address family", () =>
    Effect.gen(function* () {
      const { send, lookUp } = yield* start((_name, type) => (type === "A" ? open : "silent"), 100)
      assert.strictEqual(yield* lookUp, "public")
      assert.deepStrictEqual(yield* send, [200, null])
    }).pipe(Effect.scoped)
  )

  it.live("is resolved over TCP if the DNS response is long", () =>
    Effect.gen(function* () {
      const { names, send } = yield* start(only4(a(...Array.from({ length: 32 }, () => "127.0.0.1"))))
      assert.deepStrictEqual(yield* send, [200, null])
      assert.strictEqual(names.queries.filter((query) => query.startsWith("A ")).length, 2)
    }).pipe(Effect.scoped)
  )

  it.live("is resolved only once for many concurrent deliveries", () =>
    Effect.gen(function* () {
      const { names, send } = yield* start(only4(open))
      const sent = yield* Effect.all(
        Array.from({ length: 20 }, () => send),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        sent,
        Array.from({ length: 20 }, () => [200, null])
      )
      assert.strictEqual(names.queries.length, 2)
    }).pipe(Effect.scoped)
  )
})

describe("a host name whose address changes", () => {
  it.live("is contacted only at an address that was checked", () =>
    Effect.gen(function* () {
      // Public in the first response, private in the second, and neither may be cached.
      let asked = 0
      const { names, endpoint, send } = yield* start((_name, type) => {
        if (type === "AAAA") return []
        asked++
        return asked === 1 ? open : a("127.0.0.2")
      })
      const secret = yield* Endpoint.start(Endpoint.answer(200), {
        certificate,
        host: "127.0.0.2",
        port: endpoint.port
      })
      assert.deepStrictEqual(yield* send, [200, null])
      assert.strictEqual(names.queries.length, 2)
      assert.strictEqual(endpoint.requests.length, 1)
      assert.deepStrictEqual(yield* send, [null, "refused_address"])
      assert.strictEqual(secret.connections().all, 0)
    }).pipe(Effect.scoped)
  )

  it.live("is refused if the new address is private", () =>
    Effect.gen(function* () {
      const { names, endpoint, send, lookUp } = yield* start(only4(open))
      assert.strictEqual(yield* lookUp, "public")
      names.say(only4(a("10.0.0.1")))
      assert.deepStrictEqual(yield* send, [null, "refused_address"])
      assert.strictEqual(endpoint.connections().all, 0)
    }).pipe(Effect.scoped)
  )

  it.live("is never contacted over a connection to the old address", () =>
    Effect.gen(function* () {
      const names = yield* NameServer.start(only4(open))
      const first = yield* Endpoint.start(Endpoint.answer(200), { certificate })
      const second = yield* Endpoint.start(Endpoint.answer(201), { certificate, host: "127.0.0.3", port: first.port })
      const sender = yield* make({
        policy: allowing("127.0.0.1/32,127.0.0.3/32"),
        resolver: names.resolver,
        certificate_authorities: [certificate.cert]
      })
      const send = Effect.map(sender.send(request(`https://${name}:${first.port}/`)), outcome)
      assert.deepStrictEqual(yield* send, [200, null])
      names.say(only4(a("127.0.0.3")))
      assert.deepStrictEqual(yield* send, [201, null])
      names.say(only4(a("127.0.0.2")))
      assert.deepStrictEqual(yield* send, [null, "refused_address"])
      names.say(only4(open))
      assert.deepStrictEqual(yield* send, [200, null])
      assert.strictEqual(first.connections().all, 1)
      assert.strictEqual(first.requests.length, 2)
      assert.strictEqual(second.requests.length, 1)
    }).pipe(Effect.scoped)
  )
})

describe("a host name with several addresses", () => {
  it.live("is contacted at an address that responds", () =>
    Effect.gen(function* () {
      const names = yield* NameServer.start(only4(a("127.0.0.3", "127.0.0.4", "127.0.0.1")))
      const endpoint = yield* Endpoint.start(Endpoint.answer(200), { certificate })
      const sender = yield* make({
        policy: allowing("127.0.0.0/8"),
        resolver: names.resolver,
        certificate_authorities: [certificate.cert]
      })
      assert.deepStrictEqual(outcome(yield* sender.send(request(`https://${name}:${endpoint.port}/`))), [200, null])
    }).pipe(Effect.scoped)
  )

  it.live("is not contacted at a second address once a request was sent", () =>
    Effect.gen(function* () {
      const names = yield* NameServer.start(only4(a("127.0.0.3", "127.0.0.1")))
      const endpoint = yield* Endpoint.start(Endpoint.answer(200), { certificate })
      const first = yield* Endpoint.start((socket) => void socket.destroy(), {
        certificate,
        host: "127.0.0.3",
        port: endpoint.port
      })
      const sender = yield* make({
        policy: allowing("127.0.0.0/8"),
        resolver: names.resolver,
        certificate_authorities: [certificate.cert]
      })
      const sent = yield* sender.send(request(`https://${name}:${endpoint.port}/`))
      assert.deepStrictEqual(outcome(sent), [null, "connection_failed"])
      assert.strictEqual(first.requests.length, 1)
      assert.strictEqual(endpoint.connections().all, 0)
    }).pipe(Effect.scoped)
  )
})

describe("the sending host", () => {
  it.live("is refused as a webhook receiver under any of its names", () =>
    Effect.gen(function* () {
      const names = yield* NameServer.start((_name, type) => (type === "A" ? a("93.184.216.34") : []))
      const own: WebhookAddress.Policy = {
        ...WebhookAddress.publicOnly,
        own_addresses: [NetAddress.ipFromStringUnsafe("93.184.216.34")],
        own_hosts: ["api.example.com"]
      }
      const sender = yield* make({ policy: own, resolver: names.resolver })
      for (const host of [name, "93.184.216.34", "api.example.com"]) {
        assert.strictEqual(yield* sender.lookUp(`https://${host}/v1/mcp`), "refused")
        const sent = yield* sender.send(request(`https://${host}/v1/mcp`))
        assert.deepStrictEqual(outcome(sent), [null, "refused_address"])
      }
    }).pipe(Effect.scoped)
  )

  it.live("stops without waiting for a pending lookup", () =>
    Effect.gen(function* () {
      const names = yield* NameServer.start(() => "silent")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sender = yield* make({ resolver: names.resolver })
          yield* Effect.forkScoped(sender.send(request(`https://${name}/`)))
          yield* until(() => names.queries.length === 2)
        })
      )
    }).pipe(Effect.scoped)
  )
})
