/** The whole service on the Web's `Request` and `Response`, for any runtime. It imports nothing of Node. */

export { type ProtectedResource, protectedResource } from "../oauth/ProtectedResource.ts"
export type { Handle } from "./Handler.ts"
export { type WebHandlerOptions, type WebHandlers, webHandler, webHandlers } from "./webHandler.ts"
