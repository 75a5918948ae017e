import { Effect, Layer, Schema } from "effect"
import manifest from "effect/package.json" with { type: "json" }

/*
 * Effect's values work only with the copy of the package that made them. A schema from another copy misbehaves
 * silently. Therefore a program, Quotewire and its storage backends must share one copy.
 */

/** The releases of Effect with which this release was tested. This is the range for `effect` in `peerDependencies`. */
export const testedRange = "~4.1.0"

const tested = testedRange.replace(/^~(\d+\.\d+)\..*/, "$1.")

/** The message for a value that another copy of Effect made. */
export const otherCopy =
  "Comes from a second copy of effect. Your program and Quotewire must share one copy: run npm ls effect, and remove the others."

const nodePrototype: object = Object.getPrototypeOf(Object.getPrototypeOf(Schema.String.ast))
const layerPrototype: object = Object.getPrototypeOf(Layer.empty)

const inherits = (value: object, prototype: object): boolean => Object.prototype.isPrototypeOf.call(prototype, value)

/** Whether a value is a schema that another copy of Effect made. */
export const isForeignSchema = (value: unknown): boolean =>
  Schema.isSchema(value) && !inherits(value.ast, nodePrototype)

/** Whether a value is a layer that another copy of Effect made. */
export const isForeignLayer = (value: unknown): boolean => Layer.isLayer(value) && !inherits(value, layerPrototype)

/** The program loads a release of Effect with which this release was not tested. */
export class UnsupportedEffect extends Error {
  readonly _tag = "UnsupportedEffect"
  readonly code = "unsupported_effect"
  constructor(version: string) {
    super(
      `Quotewire is tested with effect ${tested}x, and this program loads effect ${version}: install effect@${testedRange}.`
    )
    this.name = "UnsupportedEffect"
  }
}

/**
 * Checks a release of Effect; by default the release that this package loads. Dies with `UnsupportedEffect` if the
 * release was not tested.
 */
export const checkVersion = (version: string = manifest.version): Effect.Effect<void> =>
  version.startsWith(tested) ? Effect.void : Effect.die(new UnsupportedEffect(version))
