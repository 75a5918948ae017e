import type { CarrierAdapter } from "../carriers/Carrier.ts"
import type { Line } from "../lines/Line.ts"

/** The configuration of a service: what `quotewire.config.ts` exports, and what `embed` accepts among its options. */
export interface Config {
  /** The lines that are offered, in the order in which they are listed: `[...standardLines, bicycle]`. By default the standard lines. */
  readonly lines?: ReadonlyArray<Line>
  /** Your own carriers. They are asked beside the fictional ones. */
  readonly carriers?: ReadonlyArray<CarrierAdapter>
  /** Whether the fictional carriers play in the sandbox; true by default. They never play in live. */
  readonly fictional_carriers?: boolean
}

/**
 * Types the configuration of a service.
 *
 * It returns what it is given. Whoever loads the configuration checks it, and reports every fault at once.
 *
 * @example
 * // quotewire.config.ts
 * export default defineConfig({ carriers: [acme, borealis] })
 */
export const defineConfig = (config: Config): Config => config
