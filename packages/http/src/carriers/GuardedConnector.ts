import type { Socket } from "node:net"
import { WebhookAddress } from "@quotewire/core"
import type { buildConnector } from "undici"
import * as Destinations from "../webhooks/Destinations.ts"
import * as Dial from "../webhooks/Dial.ts"

/** Settings of a guarded connector. */
export interface Settings extends Dial.TlsSettings {
  /** The addresses that connections may reach. */
  readonly policy: WebhookAddress.Policy
  readonly resolver: Destinations.Resolver
  /** How long connecting to one address may take, including TLS, in milliseconds. */
  readonly connect_limit_ms: number
}

/** How many of a host's addresses one connection attempt tries. */
const maxAddresses = 3

/**
 * Opens connections under the rules for webhooks: checks the URL, resolves its host, checks all the host's addresses
 * and dials one of them. The host name is not resolved a second time between the check and the connection.
 */
export const make = (settings: Settings): buildConnector.connector => {
  const { policy, resolver, connect_limit_ms } = settings
  const find = Destinations.make(policy, resolver)
  const dial = Dial.make({
    ...settings,
    connect: Dial.tcp,
    isAllowed: (address) => WebhookAddress.judgeAddress(address, policy) === "public"
  })

  const dialFirst = (
    [address, ...others]: ReadonlyArray<string>,
    options: buildConnector.Options,
    callback: buildConnector.Callback
  ): void => {
    if (address === undefined) {
      callback(new Dial.DialError("dns_failed"), null)
      return
    }
    let socket: Socket | undefined
    const timer = setTimeout(() => socket?.destroy(), connect_limit_ms)
    const opened = (connecting: Socket) => {
      socket = connecting
    }
    dial(address, opened, () => {})(options, (...[error, connected]) => {
      clearTimeout(timer)
      if (error === null) callback(null, connected)
      else if (others.length === 0) callback(error, null)
      else dialFirst(others, options, callback)
    })
  }

  return (options, callback) => {
    const go = (resolution: Destinations.Resolution): void => {
      if (resolution === "refused") callback(new Dial.DialError("refused_address"), null)
      else dialFirst(typeof resolution === "string" ? [] : resolution.slice(0, maxAddresses), options, callback)
    }
    const addresses = find(`${options.protocol}//${options.host ?? options.hostname}/`)?.addresses ?? "refused"
    if (addresses instanceof Promise) void addresses.then(go)
    else go(addresses)
  }
}
