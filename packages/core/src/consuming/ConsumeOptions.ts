import { Data, type Effect, Predicate, Result, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import { type Event, type EventType, types } from "../events/Event.ts"
import { Callable } from "../wire/Argument.ts"
import { fromFieldError, listed } from "../wire/BrokenRule.ts"
import type { FieldError } from "../wire/FieldError.ts"
import { OrganizationId } from "../wire/Ids.ts"
import * as Input from "../wire/Input.ts"
import { dayMs, hourMs, secondMs } from "../wire/Timestamp.ts"
import type { ParkedEvent } from "./ParkedEvent.ts"

/** What a handler receives in addition to the event. */
export interface EventContext {
  /** The organization that the event belongs to. */
  readonly organization_id: OrganizationId
  /** The environment in which the event occurred. */
  readonly environment: Environment
  /** The number of this attempt at the event, from 1. An attempt during which the process died also counts. */
  readonly attempt: number
}

/** Handles one event. If the Effect succeeds, the event is done; if it fails, the event is retried. */
export type EffectEventHandler<E = unknown, R = never> = (
  event: Event,
  context: EventContext
) => Effect.Effect<unknown, E, R>

/** Handles one event. If the promise resolves, the event is done; if it rejects, the event is retried. */
export type EventHandler = (
  event: Event,
  context: EventContext & {
    /**
     * Aborts when the attempt is cut off, because it timed out, the consumer is stopping, or another process has taken
     * over.
     */
    readonly signal: AbortSignal
  }
) => unknown

/** Tells a program about events that retention erased before they were handled. */
export interface ExpiredEvents {
  readonly consumer: string
  readonly organization_id: OrganizationId
  readonly environment: Environment
  /** How many events were erased. Events of all types count. */
  readonly events: number
}

/** Options for a consumer. Times are milliseconds of real time. */
export interface ConsumeOptions {
  /**
   * Where a consumer with a new name starts: at the end of the feed (`now`, the default), or at the oldest event that
   * is still stored. A known name continues where it stopped.
   */
  readonly from?: "now" | "oldest"
  /** Handles only events in one environment; by default in both. */
  readonly environment?: Environment
  /** Handles only events of one organization; by default of all organizations in the storage. */
  readonly organization_id?: string
  /** Handles only events of these types; by default of all types. */
  readonly types?: ReadonlyArray<EventType>
  /** How long an attempt may take; 30 seconds by default. After that, its signal aborts and the attempt fails. */
  readonly timeout_ms?: number
  /**
   * How many attempts at an event may fail before the event is parked; 10 by default.
   *
   * An attempt during which the process died is treated as failed. Because something else may have killed the process,
   * the event then gets at least one more attempt, even if this option is 1.
   */
  readonly max_attempts?: number
  /** The pause after the first failure, 1 second by default. It doubles with each consecutive failure. */
  readonly backoff_ms?: number
  /** The longest pause between two attempts; 1 minute by default. */
  readonly max_backoff_ms?: number
  /** How long another process waits before it takes over from a process that has died; 30 seconds by default. */
  readonly lease_ms?: number
  /** The maximum number of workspaces that this process handles concurrently; 8 by default. */
  readonly concurrency?: number
  /** How long `stop` waits for running handlers. The default is the `grace_ms` of `embed`, or 8 seconds with Effect. */
  readonly grace_ms?: number
  /** Called when events were erased before they were handled. The service also logs this. */
  readonly on_expired?: (expired: ExpiredEvents) => void
  /** Called when an event was parked after too many failures. The service also logs this. */
  readonly on_parked?: (parked: ParkedEvent) => void
  /**
   * Whether the log includes the messages of errors that the handler throws; true by default. If false, the log
   * contains only an error's class, code and location. Use false if your messages can contain facts about a person.
   */
  readonly log_messages?: boolean
}

/** A consumer's name, handler or options are invalid. The message names each mistake, and how to correct it. */
export class InvalidConsumer extends Data.TaggedError("InvalidConsumer")<{ readonly message: string }> {
  readonly code = "invalid_consumer"
}

/** A consumer's options, with all defaults filled in. */
export interface ConsumeSettings {
  readonly name: string
  readonly from: "now" | "oldest"
  readonly environment: Environment | null
  readonly organization_id: string | null
  /** The event types to handle; null for all types. */
  readonly types: ReadonlySet<string> | null
  readonly timeout_ms: number
  readonly max_attempts: number
  readonly backoff_ms: number
  readonly max_backoff_ms: number
  readonly lease_ms: number
  readonly concurrency: number
  readonly grace_ms: number
  readonly on_expired: ((expired: ExpiredEvents) => void) | null
  readonly on_parked: ((parked: ParkedEvent) => void) | null
  readonly log_messages: boolean
}

const whole = (minimum: number, maximum: number) => Schema.optionalKey(Input.wholeNumber(minimum, maximum))

/**
 * The event types that can appear in a feed. Purchase events are reserved for later use, and test events go only to
 * webhooks.
 */
const feedTypes = types.filter((type) => !type.startsWith("purchase.") && type !== "webhook.test")

const Options = Schema.Struct({
  from: Schema.optionalKey(Schema.Literals(["now", "oldest"])),
  environment: Schema.optionalKey(Environment),
  organization_id: Schema.optionalKey(OrganizationId),
  types: Schema.optionalKey(Schema.NonEmptyArray(Schema.Literals(feedTypes))),
  timeout_ms: whole(1, dayMs),
  max_attempts: whole(1, 1_000),
  backoff_ms: whole(1, hourMs),
  max_backoff_ms: whole(1, dayMs),
  lease_ms: whole(secondMs, hourMs),
  concurrency: whole(1, 1_000),
  grace_ms: whole(0, hourMs),
  on_expired: Schema.optionalKey(Callable),
  on_parked: Schema.optionalKey(Callable),
  log_messages: Schema.optionalKey(Schema.Boolean)
})

const wrongTypes = Input.findings(Options)

const noSuchOption = `There is no such option. The options are ${Object.keys(Options.fields).join(", ")}.`

/** Finds the mistakes in the options. An undefined option is treated as absent. */
const wrongOptions = (options: unknown): ReadonlyArray<FieldError> => {
  if (!Predicate.isReadonlyObject(options)) return wrongTypes(options)
  const definedOptions = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const unknown = Object.keys(definedOptions).filter((option) => !Object.hasOwn(Options.fields, option))
  return [...unknown.map((path) => ({ path, message: noSuchOption })), ...wrongTypes(definedOptions)]
}

const nameForm = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** A consumer's settings, or the mistakes in its name, handler and options. */
export const settingsOf = (
  name: string,
  handler: unknown,
  options: ConsumeOptions
): Result.Result<ConsumeSettings, InvalidConsumer> => {
  const message = mistakeIn(name, handler, options)
  return message === null ? Result.succeed(withDefaults(name, options)) : Result.fail(new InvalidConsumer({ message }))
}

const mistakeIn = (name: string, handler: unknown, options: ConsumeOptions): string | null => {
  const subject = isName(name) ? `The consumer ${name}` : "The consumer"
  const mistakes = wrongOptions(options).map(fromFieldError)
  const faults = [
    ...(isName(name) ? [] : [nameRule]),
    ...(typeof handler === "function" ? [] : [`${subject} needs a function as its handler.`]),
    ...(mistakes.length === 0
      ? []
      : [
          listed(
            `${subject} has invalid options.`,
            mistakes.map(({ path, message }) => `${path === "" ? "options" : path}: ${message}`)
          )
        ])
  ]
  return faults.length === 0 ? null : faults.join("\n")
}

const isName = (name: unknown): boolean => typeof name === "string" && nameForm.test(name)

/** The error for an invalid consumer name; null if the name is valid. */
export const wrongName = (name: string): InvalidConsumer | null =>
  isName(name) ? null : new InvalidConsumer({ message: nameRule })

const nameRule =
  "A consumer name must have 1 to 64 characters from a-z, 0-9, - and _, and begin with a letter or a digit."

const withDefaults = (name: string, options: ConsumeOptions): ConsumeSettings => ({
  name,
  from: options.from ?? "now",
  environment: options.environment ?? null,
  organization_id: options.organization_id ?? null,
  types: options.types === undefined ? null : new Set(options.types),
  timeout_ms: options.timeout_ms ?? 30 * secondMs,
  max_attempts: options.max_attempts ?? 10,
  backoff_ms: options.backoff_ms ?? secondMs,
  max_backoff_ms: options.max_backoff_ms ?? 60 * secondMs,
  lease_ms: options.lease_ms ?? 30 * secondMs,
  concurrency: options.concurrency ?? 8,
  grace_ms: options.grace_ms ?? 8 * secondMs,
  on_expired: options.on_expired ?? null,
  on_parked: options.on_parked ?? null,
  log_messages: options.log_messages ?? true
})

/** The error for a second consumer with the same name in one process. */
export const alreadyConsumed = (name: string): InvalidConsumer =>
  new InvalidConsumer({
    message: `This process already has a consumer named ${name}. Stop it first, or choose a different name: each name keeps its own position in the feed.`
  })
