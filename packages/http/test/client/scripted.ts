import { assert } from "@effect/vitest"
import { type ConnectOptions, connect, type RemoteClient } from "@quotewire/http/client"

/** A request that a client has sent. */
export interface Sent {
  readonly url: string
  readonly init: RequestInit
  readonly headers: Headers
  readonly at_ms: number
}

/** What a host does with a request: it responds, breaks the connection, or hangs until the request is aborted. */
export type Step = (() => Response) | Error | "hangs"

/** A response of the API. */
export const json = (value: unknown, init: ResponseInit = {}): Step => {
  const headers = { "content-type": "application/json", "service-version": "2026-09-26", ...init.headers }
  return () => new Response(JSON.stringify(value), { ...init, headers })
}

/** A refusal of the API. */
export const refusal = (
  status: number,
  code: string,
  retryAction: string,
  headers: Readonly<Record<string, string>> = {}
): Step =>
  json(
    {
      error: {
        code,
        message: `Refused: ${code}.`,
        field_errors: null,
        retry_action: { type: retryAction, summary: "Do that." },
        doc_url: `https://docs.example/v1/errors/${code}`
      },
      request_id: "req_1"
    },
    { status, headers }
  )

/** A page from something in front of the host, such as a proxy. */
export const page = (status: number, headers: Readonly<Record<string, string>> = {}): Step => {
  const body = "<html>a secret of the proxy</html>"
  return () => new Response(body, { status, headers: { "content-type": "text/html; charset=utf-8", ...headers } })
}

/** The error of `fetch` when the connection breaks. */
export const reset: Step = new TypeError("fetch failed", {
  cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })
})

export const key = "sk_sandbox_of_a_test"

/** A client of a host that plays these steps, request by request. */
export const against = (
  steps: ReadonlyArray<Step>,
  options: Partial<ConnectOptions> = {}
): { readonly client: RemoteClient; readonly sent: ReadonlyArray<Sent> } => {
  const sent: Array<Sent> = []
  const send = (url: string, init: RequestInit): Promise<Response> => {
    sent.push({ url, init, headers: new Headers(init.headers), at_ms: Date.now() })
    const step = steps[sent.length - 1] ?? new Error("The script has ended")
    if (step instanceof Error) return Promise.reject(step)
    if (step !== "hangs") return Promise.resolve(step())
    return new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(init.signal?.reason)))
  }
  return { client: connect({ base_url: "https://host.example", key, fetch: send, ...options }), sent }
}

/** What a promise rejects with. */
export const rejectionOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => assert.fail(`resolved with ${JSON.stringify(value)}`),
    (error: unknown) => error
  )
