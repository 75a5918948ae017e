import { createSocket } from "node:dgram"
import { Resolver } from "node:dns/promises"
import { createServer } from "node:net"
import { Effect } from "effect"

/** The name server's answer for one record type of a name; `silent` never answers. */
export type Reply = "silent" | "nxdomain" | "servfail" | ReadonlyArray<Record>

/** A record; an alias contains its target. */
export interface Record {
  readonly type: "A" | "AAAA" | "CNAME"
  readonly data: string
  /** The name of the record; by default the queried name. */
  readonly name?: string
}

export const a = (...addresses: ReadonlyArray<string>) =>
  addresses.map((address): Record => ({ type: "A", data: address }))
export const aaaa = (...addresses: ReadonlyArray<string>) =>
  addresses.map((address): Record => ({ type: "AAAA", data: address }))

/** Responds to a query for a name. */
export type Zone = (name: string, type: "A" | "AAAA") => Reply

/** A scripted local name server, and a resolver that asks only this server. */
export interface NameServer {
  readonly resolver: Resolver
  /** Every query, as `type name`. */
  readonly queries: ReadonlyArray<string>
  /** Changes the server's responses from now on. */
  readonly say: (zone: Zone) => void
}

const typeCodes = { A: 1, CNAME: 5, AAAA: 28 }

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0])
  ])

const data = ({ type, data: content }: Record): Buffer => {
  if (type === "CNAME") return nameBytes(content)
  if (type === "A") return Buffer.from(content.split(".").map(Number))
  const [head = "", tail] = content.split("::")
  const segments = (text: string) => (text === "" ? [] : text.split(":").map((segment) => Number.parseInt(segment, 16)))
  const [front, back] = [segments(head), segments(tail ?? "")]
  const all = [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back]
  return Buffer.from(all.flatMap((segment) => [segment >> 8, segment & 255]))
}

/** Writes a record that must not be cached. */
const recordBytes = (asked: string, record: Record): Buffer => {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(typeCodes[record.type], 0)
  fixed.writeUInt16BE(1, 2)
  const content = data(record)
  fixed.writeUInt16BE(content.length, 8)
  return Buffer.concat([nameBytes(record.name ?? asked), fixed, content])
}

const readQuery = (query: Buffer) => {
  const labels: Array<string> = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = query.readUInt16BE(at + 1) === typeCodes.AAAA ? ("AAAA" as const) : ("A" as const)
  return { name: labels.join("."), type, question: query.subarray(12, at + 5) }
}

const response = (
  query: Buffer,
  question: Buffer,
  name: string,
  reply: Exclude<Reply, "silent">,
  max: number
): Buffer => {
  const records = typeof reply === "string" ? [] : reply
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  const code = reply === "nxdomain" ? 3 : reply === "servfail" ? 2 : 0
  header.writeUInt16BE(0x8580 | code, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  const whole = Buffer.concat([header, question, ...records.map((record) => recordBytes(name, record))])
  if (whole.length <= max) return whole
  // Too large for a packet: the resolver must retry over TCP.
  header.writeUInt16BE(0x8780 | code, 2)
  header.writeUInt16BE(0, 6)
  return Buffer.concat([header, question])
}

/** Starts a name server over UDP, and TCP for long answers. */
export const start = (first: Zone) =>
  Effect.acquireRelease(
    Effect.callback<NameServer & { readonly close: () => void }>((resume) => {
      let zone = first
      const queries: Array<string> = []
      const answer = (query: Buffer, max: number): Buffer | null => {
        const { name, type, question } = readQuery(query)
        queries.push(`${type} ${name}`)
        const reply = zone(name, type)
        return reply === "silent" ? null : response(query, question, name, reply, max)
      }
      const udp = createSocket("udp4", (query, { port, address }) => {
        const reply = answer(query, 512)
        if (reply !== null) udp.send(reply, port, address)
      })
      const tcp = createServer((socket) => {
        socket.on("error", () => socket.destroy())
        socket.on("data", (bytes) => {
          const reply = answer(bytes.subarray(2), 0xffff)
          if (reply === null) return
          const size = Buffer.alloc(2)
          size.writeUInt16BE(reply.length)
          socket.end(Buffer.concat([size, reply]))
        })
      })
      tcp.listen(0, "127.0.0.1", () => {
        const bound = tcp.address()
        if (bound === null || typeof bound === "string") return resume(Effect.die("bound to no port"))
        udp.bind(bound.port, "127.0.0.1", () => {
          const resolver = new Resolver({ timeout: 500, tries: 1 })
          resolver.setServers([`127.0.0.1:${bound.port}`])
          const close = () => {
            resolver.cancel()
            udp.close()
            tcp.close()
          }
          const say = (next: Zone) => {
            zone = next
          }
          resume(Effect.succeed({ resolver, queries, say, close }))
        })
      })
    }),
    ({ close }) => Effect.sync(close)
  )
