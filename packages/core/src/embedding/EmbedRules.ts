import { Layer, Predicate, Result } from "effect"
import { isLimits } from "../access/limits/Limits.ts"
import { checkOptions, configRules, InvalidConfig, layerRule, must, type OptionRule } from "../config/ConfigRules.ts"
import type { FieldError } from "../wire/FieldError.ts"
import * as HttpAddress from "../wire/HttpAddress.ts"
import * as Input from "../wire/Input.ts"
import { hourMs } from "../wire/Timestamp.ts"
import type { EmbedOptions } from "./Embedded.ts"
import type { ProgramLogger } from "./ProgramLogger.ts"
import * as sealKeys from "./sealKeys.ts"
import * as Telemetry from "./Telemetry.ts"

/* Checks the types of `embed`'s options, because a JavaScript program can pass anything. */

const layer = (example: string) => layerRule(`Must be a layer, such as ${example}.`)
const trueOrFalse = must("Must be true or false.", Predicate.isBoolean)

const mistakesOf = (read: Result.Result<unknown, ReadonlyArray<FieldError>>): ReadonlyArray<FieldError> =>
  Result.match(read, { onFailure: (mistakes) => mistakes, onSuccess: () => [] })

const readPublicUrl = (address: string) =>
  Result.mapError(HttpAddress.readBase(address), (refusal) => [{ path: "", message: HttpAddress.sentenceOf(refusal) }])

const logMethods = ["debug", "info", "warn", "error"]

const isLogger = (value: unknown): value is ProgramLogger =>
  Predicate.isObjectKeyword(value) && logMethods.every((name) => typeof Reflect.get(value, name) === "function")

/** One rule for each option. If a rule is missing, this does not compile. */
const rules: { readonly [Option in keyof EmbedOptions]-?: OptionRule } = {
  storage: layer("MemoryStorage.layer or the layer that postgres() from @quotewire/storage-pg returns"),
  seal_keys: (value, options) =>
    Layer.isLayer(value) ? layer("one that provides SealKeys")(value, options) : mistakesOf(sealKeys.read(value)),
  ...configRules,
  carriers: (value, options) =>
    Layer.isLayer(value)
      ? layer("one that provides CarrierAdapters")(value, options)
      : configRules.carriers(value, options),
  logger: must("Must have the functions debug, info, warn and error, as the console object does.", isLogger),
  telemetry: must('Must be the module "@opentelemetry/api".', Telemetry.isOpenTelemetry),
  cryptography: layer("NodeCrypto.layer from @quotewire/http"),
  limits: must(
    "Must have every limit in Allowance.standardLimits except `operator`, which is optional; each limit must be a whole number of at least 1, or null.",
    isLimits
  ),
  webhooks: layer("NodeWebhookSender.layer() from @quotewire/http"),
  public_url: (value) =>
    typeof value === "string" ? mistakesOf(readPublicUrl(value)) : [{ path: "", message: "Must be text." }],
  request_log: trueOrFalse,
  feedback: trueOrFalse,
  work: trueOrFalse,
  grace_ms: Input.findings(Input.wholeNumber(0, hourMs))
}

/** The error for invalid options; null if all are valid. It names each mistake and never repeats a value. */
export const refusalOf = (options: unknown): InvalidConfig | null =>
  Predicate.isReadonlyObject(options)
    ? checkOptions(options, rules, ["storage"])
    : new InvalidConfig({ message: "embed needs an options object, such as { storage: MemoryStorage.layer }." })

/** Returns the logger from options that may be invalid; undefined if the logger is missing or unusable. */
export const loggerOf = (options: unknown): ProgramLogger | undefined =>
  Predicate.hasProperty(options, "logger") && isLogger(options.logger) ? options.logger : undefined
