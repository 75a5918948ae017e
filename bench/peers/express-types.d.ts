/** The little of Express that the peer uses: its types are no dependency of ours. */
declare module "express" {
  import type { IncomingMessage, RequestListener } from "node:http"

  interface Request extends IncomingMessage {
    readonly params: Readonly<Record<string, string>>
    readonly body: unknown
  }
  interface Response {
    status(code: number): Response
    set(headers: Readonly<Record<string, string>>): Response
    json(value: unknown): void
  }
  type Handler = (request: Request, response: Response, next: () => void) => void
  type Application = RequestListener & {
    disable(setting: string): void
    use(handler: Handler): void
    get(path: string, handler: Handler): void
    post(path: string, handler: Handler): void
  }
  const express: { (): Application; json(): Handler }

  export { express as default }
}
