/*
 * Postel is a webhook outbox. It is not on npm, so it is measured only if there is a bundle of it (see the bench's
 * README).
 */

const bundle = process.env.QUOTEWIRE_BENCH_POSTEL

/** Whether there is a bundle of Postel. */
export const isThere = bundle !== undefined

/**
 * How many workers Postel has. Its default is four, and each sends its claimed deliveries concurrently, at most
 * sixteen. The other setting has as many workers as the other contenders may have POSTs in flight.
 */
export const settings = [
  { name: "as it comes", workers: null },
  { name: "64 workers", workers: 64 }
] as const

/** The parts of the bundle that are used here. */
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
  /** The number of workers; null for Postel's default. */
  readonly workers: number | null
  /** The event types. Each type has its own endpoint. */
  readonly types: ReadonlyArray<string>
  /** The database URL; null for Postel's storage in memory. */
  readonly database: string | null
}

/** How many messages are sent concurrently. */
const sendsAtOnce = 32
// Pads Postel's payloads to the length of Quotewire's.
const padding = "x".repeat(393)

/**
 * Starts Postel with an endpoint for each event type. Postel does not report finished deliveries, so callers must count
 * the POSTs that the receiver got.
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
    let sentCount = 0
    const lane = async () => {
      while (sentCount < messages)
        await outbox.outbound.send({ type: types[sentCount++ % types.length], data: { padding } })
    }
    await Promise.all(Array.from({ length: sendsAtOnce }, lane))
  }
  return { send, stop: async () => outbox.stop?.() }
}
