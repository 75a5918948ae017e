import { WebhookAddress, WebhookSender } from "@quotewire/core"
import { Context, Effect, Layer } from "effect"
import * as NodeWebhookSender from "../../../src/webhooks/NodeWebhookSender.ts"
import * as Endpoint from "./endpoint.ts"

/** A policy that allows these networks as well as public addresses. */
export const allowing = (networks: string): WebhookAddress.Policy => ({
  ...WebhookAddress.publicOnly,
  allow: WebhookAddress.readNetworks(networks) ?? []
})

/** A sender that may reach 127.0.0.1 but no other local address. It ends with the scope. */
export const make = (settings: NodeWebhookSender.Settings = {}) =>
  Effect.map(
    Layer.build(NodeWebhookSender.layer({ policy: allowing("127.0.0.1/32"), ...settings })),
    Context.get(WebhookSender.WebhookSender)
  )

/** A POST to a URL, with a deadline that is only reached on purpose. */
export const request = (url: string, deadline_ms = 10_000): WebhookSender.WebhookRequest => ({
  url,
  headers: { "content-type": "application/json", "webhook-id": "evt_1" },
  body: '{"text":"caf\u00e9 \u{1f697}"}',
  deadline_ms
})

/** The outcome of a POST, without its duration. */
export const outcome = ({ response_status_code, failure }: WebhookSender.SendOutcome) => [response_status_code, failure]

/** Sends to a scripted endpoint with a separate sender. */
export const sendTo = (script: Endpoint.Script, deadlineMs?: number) =>
  Effect.gen(function* () {
    const endpoint = yield* Endpoint.start(script)
    const sender = yield* make()
    const sent = yield* sender.send(request(`http://127.0.0.1:${endpoint.port}/hook`, deadlineMs))
    return { endpoint, sender, sent: outcome(sent) }
  })
