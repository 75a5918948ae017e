import { ApiError } from "@quotewire/core"
import { Effect } from "effect"
import type { Read } from "./Route.ts"

/*
 * Receives request bodies. Limits the size of each body, and the memory for all bodies that are still arriving.
 * Platform-specific code reads their bytes.
 */

/**
 * The maximum body size of a request to an operation or to the agent endpoint, in bytes (api.md, Requests and answers).
 */
export const maxBytes = 256 * 1024

/** The bytes of an empty or missing body. */
export const nothing = new Uint8Array(0)

/** Refuses a body that is larger than the limit, in bytes. */
export const tooLarge = (limit: number): Read =>
  Effect.fail(ApiError.make("request_too_large", { message: `The body is larger than ${limit / 1024} KiB.` }))

/**
 * The failure of reading a body that other code in front of the service has already consumed. It is a defect, because
 * the caller is not at fault.
 */
export const consumed = (message: string): Effect.Effect<never> => Effect.die(new Error(message))

/** Limits the memory for request bodies that are still arriving. */
export interface Limits {
  /**
   * The maximum size of all arriving bodies together, in bytes. Above it, the body that began first is refused with
   * `service_unavailable`. At least 256 KiB, the maximum size of one body; 64 MiB by default.
   */
  readonly max_arriving_bytes?: number
}

/** Reports the outcome of reading a body. */
type Settle = (outcome: Read) => void

/**
 * The bodies that are arriving at a handler, oldest first.
 *
 * They share one limit. Above the limit, the oldest body is refused, because it is the slowest. So slow senders cannot
 * block the others.
 */
export class ArrivingBodies {
  private readonly bodies = new Set<ArrivingBody>()
  private readonly max_bytes: number
  private bytes = 0

  constructor({ max_arriving_bytes = 64 * 1024 * 1024 }: Limits) {
    this.max_bytes = max_arriving_bytes
  }

  /** Starts a body of at most `limit` bytes. `settle` is called once, with the body or a refusal. */
  begin(limit: number, settle: Settle): ArrivingBody {
    const body = new ArrivingBody(limit, this, settle)
    this.bodies.add(body)
    return body
  }

  /** Adds to the total, and refuses the oldest bodies while the total exceeds the limit. */
  grow(bytes: number): void {
    this.bytes += bytes
    for (const oldest of this.bodies) {
      if (this.bytes <= this.max_bytes) return
      oldest.finish(busy)
    }
  }

  remove(body: ArrivingBody, bytes: number): void {
    if (this.bodies.delete(body)) this.bytes -= bytes
  }
}

const busy = Effect.fail(
  ApiError.make("service_unavailable", {
    message: "Too many request bodies are arriving at the same time, and nothing was done. Send the request again.",
    retry_after_seconds: 1
  })
)

/**
 * A body that arrives in chunks. They are copied into one buffer, because a one-byte chunk occupies a hundred times its
 * size and may keep a larger buffer in memory.
 */
export class ArrivingBody {
  private readonly limit: number
  private readonly all: ArrivingBodies
  private readonly settle: Settle
  private buffer = nothing
  private length = 0
  isOver = false

  constructor(limit: number, bodies: ArrivingBodies, settle: Settle) {
    this.limit = limit
    this.all = bodies
    this.settle = settle
  }

  /** Adds a chunk. If the body then exceeds the limit, it is refused with `request_too_large`. */
  add(piece: Uint8Array): void {
    if (this.isOver) return
    const length = this.length + piece.length
    if (length > this.limit) {
      this.finish(tooLarge(this.limit))
      return
    }
    if (length > this.buffer.length) {
      const buffer = new Uint8Array(Math.min(this.limit, Math.max(length, this.buffer.length * 2)))
      buffer.set(this.buffer.subarray(0, this.length))
      const previousLength = this.buffer.length
      this.buffer = buffer
      this.all.grow(buffer.length - previousLength)
      if (this.isOver) return
    }
    this.buffer.set(piece, this.length)
    this.length = length
  }

  /** Completes the body after its last chunk. */
  end(): void {
    this.finish(Effect.succeed(this.buffer.subarray(0, this.length)))
  }

  /** Settles the body with this outcome. Later outcomes are ignored. */
  finish(outcome: Read): void {
    if (this.isOver) return
    this.forget()
    this.settle(outcome)
  }

  /** Discards the body because its reader was interrupted. */
  forget(): void {
    this.isOver = true
    this.all.remove(this, this.buffer.length)
    this.buffer = nothing
  }
}
