import { createGunzip, type Gunzip } from "node:zlib"
import { WholeAnswers } from "@quotewire/core"
import { Bytes, Effect } from "effect"
import { Headers, HttpClientError, HttpClientRequest } from "effect/http"
import type { Dispatcher } from "undici"
import * as ContentEncoding from "./ContentEncoding.ts"

type Answered = Effect.Effect<WholeAnswers.WholeAnswer, HttpClientError.HttpClientError | WholeAnswers.UnreadAnswer>

/**
 * Creates the function that sends requests with undici's `dispatch` and collects each response. undici's own `request`
 * would create a stream and an abort signal for each response (docs/decisions/tuning.md).
 */
export const make =
  (dispatcher: Pick<Dispatcher, "dispatch">): WholeAnswers.SendWhole =>
  (request, options) =>
    Effect.callback((resume) => {
      const url = HttpClientRequest.toUrl(request)
      if (url._tag === "None") return resume(Effect.fail(invalidUrl(request)))
      const { body, headers, method } = ContentEncoding.accepting(request)
      const receiver = new AnswerReceiver(request, options, resume)
      dispatcher.dispatch(
        {
          method,
          origin: url.value.origin,
          path: url.value.pathname + url.value.search,
          headers,
          body: body._tag === "Uint8Array" ? body.body : null,
          // Turns off undici's timeouts, because the caller has its own time limit.
          headersTimeout: 0,
          bodyTimeout: 0
        },
        receiver
      )
      return Effect.sync(() => receiver.abandon())
    })

const invalidUrl = (request: HttpClientRequest.HttpClientRequest) =>
  new HttpClientError.HttpClientError({ reason: new HttpClientError.InvalidUrlError({ request, cause: undefined }) })

/** Collects one response from undici's events, and passes the response on when it is complete. */
class AnswerReceiver implements Dispatcher.DispatchHandler {
  private readonly request: HttpClientRequest.HttpClientRequest
  private readonly options: WholeAnswers.ReadOptions
  private readonly resume: (answered: Answered) => void
  private controller: Dispatcher.DispatchController | null = null
  /** The status and the headers; null until they arrive. */
  private head: Omit<WholeAnswers.WholeAnswer, "bytes"> | null = null
  private gunzip: Gunzip | null = null
  private isEmpty = true
  /** Whether all bytes of the response have arrived. */
  private isReceived = false
  private readonly chunks: Array<Uint8Array> = []
  private size = 0
  private isOver = false

  constructor(
    request: HttpClientRequest.HttpClientRequest,
    options: WholeAnswers.ReadOptions,
    resume: (answered: Answered) => void
  ) {
    this.request = request
    this.options = options
    this.resume = resume
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isOver) controller.abort(abandoned)
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    received: Readonly<Record<string, string | Array<string> | undefined>>
  ): void {
    // Interim responses, such as 103, precede the final response.
    if (status < 200 || this.isOver) return
    const headers = Headers.fromInput(received)
    if (ContentEncoding.isCompressed(status, headers)) {
      this.gunzip = this.decompressing(controller)
      this.head = { status, headers: ContentEncoding.decompressedHeaders(headers) }
    } else {
      this.head = { status, headers }
    }
    this.options.observer?.onHead(status, this.head.headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.isEmpty = false
    if (this.gunzip === null) this.add(chunk)
    else if (!this.isOver && !this.gunzip.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.isReceived = true
    // Some servers declare gzip even for an empty body.
    if (this.gunzip === null || this.isEmpty) this.complete()
    else this.gunzip.end()
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.fail(error)
  }

  /** Ends the request, because nobody waits for the response anymore. */
  abandon(): void {
    if (this.end()) this.controller?.abort(abandoned)
  }

  private decompressing(controller: Dispatcher.DispatchController): Gunzip {
    const gunzip = createGunzip()
    gunzip.on("data", (chunk: Buffer) => this.add(chunk))
    gunzip.on("drain", () => controller.resume())
    gunzip.on("end", () => {
      this.complete()
      // Bytes after the compressed data are not read, so the connection cannot be used again.
      if (!this.isReceived) controller.abort(abandoned)
    })
    gunzip.on("error", (error) => {
      this.fail(error)
      controller.abort(error)
    })
    return gunzip
  }

  private add(chunk: Uint8Array): void {
    if (this.isOver) return
    this.chunks.push(chunk)
    this.size += chunk.length
    if (this.size <= this.options.max_bytes) return
    this.unread("too_large")
    this.controller?.abort(abandoned)
  }

  private complete(): void {
    const { head } = this
    const bytes = this.end()
    if (bytes !== null && head !== null) this.pass(Effect.succeed({ ...head, bytes }))
  }

  private fail(cause: Error): void {
    if (this.head !== null) {
      this.unread("broken", cause)
      return
    }
    const reason = new HttpClientError.TransportError({ request: this.request, cause })
    if (this.end()) this.pass(Effect.fail(new HttpClientError.HttpClientError({ reason })))
  }

  private unread(problem: WholeAnswers.UnreadAnswer["problem"], cause?: Error): void {
    const { head } = this
    if (this.end() && head !== null) this.pass(Effect.fail(new WholeAnswers.UnreadAnswer({ ...head, problem, cause })))
  }

  /** Passes the result on after undici's parser has returned, because the caller may then send the next request. */
  private pass(answered: Answered): void {
    queueMicrotask(() => this.resume(answered))
  }

  /** Stops collecting, and returns the part of the body that was received; null if collecting had already stopped. */
  private end(): Uint8Array | null {
    if (this.isOver) return null
    this.isOver = true
    const bytes = Bytes.concat(this.chunks)
    this.chunks.length = 0
    this.gunzip?.destroy()
    if (this.head !== null) this.options.observer?.onBody(bytes)
    return bytes
  }
}

const abandoned = new Error("Nobody is waiting for this answer anymore.")
