/*
 * Postel, a webhook outbox, if someone has bundled it: it is not on npm. See the README of the bench.
 */

const bundle = process.env.QUOTEWIRE_BENCH_POSTEL

/** Whether there is a bundle. */
export const isThere = bundle !== undefined

/**
 * How many workers it has: by default four, each sending its claimed deliveries concurrently, sixteen at most; or as
 * many as others may have POSTs in flight.
 */
export const settings = [
  { name: "as it comes", workers: null },
  { name: "64 workers", workers: 64 }
] as const

/** The parts of the bundle that are used. */
interface Bundle {
  readonly Postel: (options: object) => Outbox
  readonly InMemoryStorage: () => object
  readonly InProcess: (options: object) => object
  readonly pgStorage: { readonly PgStorage: (options: object) => object }
}

interface Outbox {
  readonly migrate?: () => Promise<unknown>
  readonly start: () => Promise<unknown>
  readonly stop?: () => Promise<unknown>
  readonly outbound: {
    readonly endpoints: { readonly create: (endpoint: object) => Promise<unknown> }
    readonly send: (message: object) => Promise<unknown>
  }
}

/** The configuration of Postel. */
export interface Settings {
  /** Null for the default number. */
  readonly workers: number | null
  /** The event types. Each has its own endpoint. */
  readonly types: ReadonlyArray<string>
  /** Null for its storage in memory. */
  readonly database: string | null
}

/** Messages that are sent concurrently. */
const sendsAtOnce = 32
// Pads its payloads to the length of ours.
const padding = "x".repeat(330)

/**
 * Starts Postel with an endpoint for each type. Postel does not report finished deliveries, so the receiver's count is used.
 */
export const start = async (url: string, { workers, types, database }: Settings) => {
  const { Postel, InMemoryStorage, InProcess, pgStorage }: Bundle = await import(bundle ?? "")
  const storage = database === null ? InMemoryStorage() : pgStorage.PgStorage({ connectionString: database })
  const http = { ssrf: { blockPrivateRanges: false } }
  const outbox = Postel({
    outbound: { storage, workers: InProcess(workers === null ? {} : { concurrency: workers }), http }
  })
  await outbox.migrate?.()
  for (const type of types) {
    await outbox.outbound.endpoints.create({ url: `${url}/${type}`, types: [type], allowHttp: true })
  }
  await outbox.start()
  const send = async (messages: number): Promise<void> => {
    let sent = 0
    const lane = async () => {
      while (sent < messages) await outbox.outbound.send({ type: types[sent++ % types.length], data: { padding } })
    }
    await Promise.all(Array.from({ length: sendsAtOnce }, lane))
  }
  return { send, stop: async () => outbox.stop?.() }
}
