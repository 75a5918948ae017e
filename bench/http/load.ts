import { connect, type Socket } from "node:net"
import * as Child from "../Child.ts"
import { percentile } from "../statistics.ts"

/**
 * The request to send repeatedly. `{unique}` in the body is replaced with a new text each time. `{place}` in the path
 * and the body is replaced with one of the places.
 */
export interface Load {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** The maximum number of requests. The load ends after this many requests, even if its time is not over. */
  readonly at_most: number
  readonly method: "GET" | "POST"
  readonly path: string
  /** The values for `{place}`, which are used in turn. */
  readonly places?: ReadonlyArray<string>
  readonly key: string
  readonly body: string | null
  /** Additional request headers. */
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
}

/** The result of the load. */
export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** The share of its core that the load generator used. Near 1, the load generator would be the bottleneck. */
  readonly load_cpu: number
  /** The complete first response. */
  readonly sample: string
}

let uniques = 0
/** Returns a unique text of constant length, so that all bodies have the same length. */
const unique = (): string => `${process.pid}-${String(++uniques).padStart(12, "0")}`

/** Creates a function that formats requests as text. This is cheaper than any available HTTP client. */
const writer = (load: Load): (() => string) => {
  const writers = (load.places ?? [""]).map((place) =>
    writerOf({
      ...load,
      path: load.path.replace("{place}", place),
      body: load.body?.replaceAll("{place}", place) ?? null
    })
  )
  let turn = 0
  return () => writers[turn++ % writers.length]?.() ?? ""
}

const writerOf = ({ method, path, key, body, headers: extra = {} }: Load): (() => string) => {
  const [before = "", after = null] = body?.split("{unique}") ?? []
  const length = after === null ? before.length : before.length + unique().length + after.length
  const headers = [
    "host: 127.0.0.1",
    `authorization: Bearer ${key}`,
    "accept: application/json",
    ...Object.entries(extra).map(([name, value]) => `${name}: ${value}`),
    ...(body === null ? [] : ["content-type: application/json", `content-length: ${length}`])
  ]
  const head = `${[`${method} ${path} HTTP/1.1`, ...headers].join("\r\n")}\r\n\r\n`
  return after === null ? () => head + before : () => head + before + unique() + after
}

const lengthOf = /content-length: *(\d+)/i
const chunked = /transfer-encoding: *chunked/i
const lastChunk = Buffer.from("\r\n0\r\n\r\n")

/** Whether a response has fully arrived. Its body begins at `start`. */
const isWhole = (answer: Buffer, start: number): boolean => {
  const head = answer.toString("latin1", 0, start)
  const length = lengthOf.exec(head)?.[1]
  if (length !== undefined) return answer.length >= start + Number(length)
  if (!chunked.test(head)) throw new Error(`No length of the body in ${head}`)
  return answer.subarray(-lastChunk.length).equals(lastChunk)
}

/** Keeps one request in flight on one connection until `onAnswer` says to stop. */
const keepBusy = (socket: Socket, load: Load, write: () => string, onAnswer: (ms: number, text: Buffer) => boolean) => {
  let pending = Buffer.alloc(0)
  let sentAt = 0
  const send = () => {
    sentAt = performance.now()
    socket.write(write(), "latin1")
  }
  socket.on("data", (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const end = pending.indexOf("\r\n\r\n")
    if (end < 0) return
    if (!isWhole(pending, end + 4)) return
    if (pending.toString("latin1", 9, 12) !== String(load.status)) throw new Error(`Refused: ${pending.toString()}`)
    const answer = pending
    pending = Buffer.alloc(0)
    if (onAnswer(performance.now() - sentAt, answer)) send()
    else socket.destroy()
  })
  socket.once("connect", send)
}

const run = (load: Load): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    const latencies: Array<number> = []
    const write = writer(load)
    const startedAt = performance.now()
    const endsAt = startedAt + load.seconds * 1_000
    const cpu = process.cpuUsage()
    let sample = ""
    let open = load.connections
    const onAnswer = (ms: number, answer: Buffer): boolean => {
      latencies.push(ms)
      if (sample === "") sample = answer.toString()
      return performance.now() < endsAt && latencies.length < load.at_most
    }
    const onClose = () => {
      if (--open > 0) return
      const seconds = (performance.now() - startedAt) / 1_000
      const { user, system } = process.cpuUsage(cpu)
      const sorted = Float64Array.from(latencies)
      resolve({
        requests: latencies.length,
        seconds,
        p50_ms: percentile(sorted, 0.5),
        p99_ms: percentile(sorted, 0.99),
        load_cpu: (user + system) / 1e6 / seconds,
        sample
      })
    }
    for (let i = 0; i < load.connections; i++) {
      const socket = connect({ port: load.port, host: "127.0.0.1", noDelay: true })
      socket.on("error", reject).on("close", onClose)
      keepBusy(socket, load, write, onAnswer)
    }
  })

Child.answer(run)
