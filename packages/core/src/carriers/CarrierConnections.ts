import { Context, Effect, type Scope } from "effect"

/** Makes requests wait for free connections. */
interface Connections {
  /** Waits until a connection to this host and port is free. The caller holds it until the scope closes. */
  readonly take: (host: string) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Does the same without Effect, which is faster: takes a connection, and calls `onFree` once it is free, perhaps
   * immediately. The returned function is called once. It gives the connection back, or stops waiting. Without `hold`,
   * requests use `take`.
   */
  readonly hold?: (host: string, onFree: () => void) => () => void
}

const unlimited: Connections = {
  take: () => Effect.void,
  hold: (_, onFree) => {
    onFree()
    return () => {}
  }
}

/**
 * The connections that a host opens to carriers.
 *
 * A host that limits its connections provides `take`, so that the time spent waiting for a connection does not count
 * against the carrier. By default connections are unlimited. The adapters' HTTP client takes a connection for each
 * request.
 *
 * @example
 * const { take } = yield* CarrierConnections
 */
export const CarrierConnections: Context.Reference<Connections> = Context.Reference(
  "@quotewire/core/CarrierConnections",
  { defaultValue: () => unlimited }
)
