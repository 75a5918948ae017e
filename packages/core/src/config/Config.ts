import type { Layer } from "effect"
import type { Environment } from "../access/Caller.ts"
import type { Served } from "../calls/Revision.ts"
import type { CarrierAdapter } from "../carriers/Carrier.ts"
import type { CarrierExchange, RecordedExchanges } from "../carriers/recorder/CarrierExchange.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { Rating } from "../rating/Rating.ts"

/** Connections by the IDs of their carriers, with values by the names that the carrier's `connection` declares. */
export type SandboxConnections = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>

/** The configuration of a service: what `quotewire.config.ts` exports, and what `embed` accepts among its options. */
export interface Config<OwnLine extends Line = Line> {
  /**
   * The lines that are offered, in the order in which they are listed: `[...standardLines, bicycle]`. By default the
   * standard lines.
   */
  readonly lines?: ReadonlyArray<OwnLine>
  /**
   * How rate plans see your own lines. `quotewire carriers check` needs this; a carrier made with `ratePlanCarrier`
   * gets its own.
   */
  readonly ratings?: ReadonlyArray<Rating>
  /** Your own carriers. They are asked in addition to the fictional ones. */
  readonly carriers?: ReadonlyArray<CarrierAdapter>
  /** Whether the sandbox has the fictional carriers; true by default. They are never asked in live. */
  readonly fictional_carriers?: boolean
  /**
   * How carriers are reached, such as `CarrierTransports.layer({ public_addresses_only: true })` of `@quotewire/http`.
   */
  readonly carrier_transport?: Layer.Layer<never>
  /**
   * The values that the sandbox of `quotewire dev` and `quotewire mcp` uses for carriers that have a `connection`, by
   * carrier id: `{ "naic:12345": { api_key: process.env.ACME_API_KEY } }`.
   *
   * Nothing else uses them: on a server, each organization has its own connections. A carrier for which a value is
   * undefined is not asked.
   */
  readonly sandbox_connections?: SandboxConnections
  /**
   * The dated revisions of the contract that are served, newest first; by default the revision of this release.
   *
   * An older one describes its differences from the newest: `Revision.renames` for renamed fields.
   */
  readonly revisions?: Served
  /** Which exchanges with carriers are recorded; by default all in the sandbox, and failures in live. */
  readonly exchange_recording?: Partial<{ readonly [E in Environment]: RecordedExchanges }>
  /** How many days recorded exchanges are kept; 7 by default, and at most as long as the facts. */
  readonly exchanges_days?: number
  /**
   * Called after every exchange with a carrier that is not fictional, without bodies. It must neither throw nor block.
   */
  readonly on_carrier_exchange?: (exchange: CarrierExchange) => void
}

/**
 * Adds types to the configuration of a service.
 *
 * It returns its argument unchanged. Whatever loads the configuration checks it, and reports every fault together.
 *
 * @example
 * // quotewire.config.ts
 * export default defineConfig({ carriers: [acme, borealis] })
 */
export const defineConfig = <OwnLine extends Line = StandardLine>(config: Config<OwnLine>): Config<OwnLine> => config
