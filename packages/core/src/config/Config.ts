import type { Layer } from "effect"
import type { Environment } from "../access/Caller.ts"
import type { Served } from "../calls/Revision.ts"
import type { CarrierAdapter } from "../carriers/Carrier.ts"
import type { CarrierExchange, RecordedExchanges } from "../carriers/recorder/CarrierExchange.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { Rating } from "../rating/Rating.ts"

/** The sandbox's connections by carrier ID. The values have the names that the carrier declares in its `connection`. */
export type SandboxConnections = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>

/** The configuration of a service. `quotewire.config.ts` exports it, and `embed` accepts its fields as options. */
export interface Config<OwnLine extends Line = Line> {
  /**
   * The lines to offer, in the order in which they are listed, such as `[...standardLines, bicycle]`. By default the
   * standard lines.
   */
  readonly lines?: ReadonlyArray<OwnLine>
  /**
   * The ratings of your own lines, for `quotewire carriers check`. A carrier made with `ratePlanCarrier` receives its
   * rating directly.
   */
  readonly ratings?: ReadonlyArray<Rating>
  /** Your own carriers. The fictional carriers are asked too, unless you disable them. */
  readonly carriers?: ReadonlyArray<CarrierAdapter>
  /**
   * Whether the sandbox includes the fictional carriers; true by default. The fictional carriers are never asked in
   * live.
   */
  readonly fictional_carriers?: boolean
  /**
   * How requests reach carriers, such as `CarrierTransports.layer({ public_addresses_only: true })` from
   * `@quotewire/http`.
   */
  readonly carrier_transport?: Layer.Layer<never>
  /**
   * The values for carriers that have a `connection`, by carrier ID:
   * `{ "naic:12345": { api_key: process.env.ACME_API_KEY } }`.
   *
   * Only the sandbox of `quotewire dev` and `quotewire mcp` uses them; on a server, each organization has its own
   * connections. A carrier for which a value is undefined is not asked.
   */
  readonly sandbox_connections?: SandboxConnections
  /**
   * The revisions of the API contract to serve, newest first; by default only this release's revision.
   *
   * An older revision describes its differences from the newest revision. Use `Revision.renames` for renamed fields.
   */
  readonly revisions?: Served
  /** Which exchanges with carriers are recorded; by default all in the sandbox, and only failures in live. */
  readonly exchange_recording?: Partial<{ readonly [E in Environment]: RecordedExchanges }>
  /**
   * How many days recorded exchanges are kept; 7 by default. They are never kept longer than the facts about the
   * person.
   */
  readonly exchanges_days?: number
  /**
   * Called after every exchange with a carrier that is not fictional. The function gets no bodies, and must neither
   * throw nor block.
   */
  readonly on_carrier_exchange?: (exchange: CarrierExchange) => void
}

/**
 * Adds types to a service's configuration.
 *
 * It returns its argument unchanged. The program that loads the configuration checks it, and reports all mistakes
 * together.
 *
 * @example
 * // quotewire.config.ts
 * export default defineConfig({ carriers: [acme, borealis] })
 */
export const defineConfig = <OwnLine extends Line = StandardLine>(config: Config<OwnLine>): Config<OwnLine> => config
