import { Client, type Dispatcher, Pool } from "undici"

/**
 * A connection that stays usable after it has refused a request, for example because of a character that is not allowed
 * in a header. undici reports such a client as busy, and a pool would wait forever until it is free again.
 */
class RefusingClient extends Client {
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, handler) || this.stats.size === 0
  }
}

/** Creates a pool of such connections to one origin. Pass it as the `factory` of an `Agent`. */
export const pool = (origin: URL, options: object): Dispatcher =>
  new Pool(origin, { ...options, factory: (url, clientOptions) => new RefusingClient(url, clientOptions) })
