import assert from "node:assert/strict"
import { createHmac, randomBytes } from "node:crypto"
import { test } from "node:test"
import { makeInbox, type WebhookEvent } from "../receiver/inbox.ts"

const key = randomBytes(32)
const secrets = [`whsec_${key.toString("base64")}`]

/** Signs an event in the same way as the service. */
const signed = (event: WebhookEvent) => {
  const body = Buffer.from(JSON.stringify(event))
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const mac = createHmac("sha256", key).update(`${event.id}.${timestamp}.${body}`).digest("base64")
  const headers = { "webhook-id": event.id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` }
  return { headers, body }
}

const event = {
  id: "evt_01m84v0ff8nrk5ty5ppekmrp7v",
  type: "quote.created",
  resource: { type: "quote", id: "qt_01m84v0ff8nrk5ty5ppekmrp7v", version: 1 }
}

const newInbox = () => makeInbox({ secrets: () => secrets, read: async ({ id, version }) => ({ id, version }) })

test("a signed webhook is confirmed, and its quote is read", async () => {
  const inbox = newInbox()
  const { headers, body } = signed(event)
  const { status } = await inbox.accept(headers, body)
  assert.equal(status, 204)
  await inbox.take(event)
  assert.deepEqual([...inbox.held().values()], [{ id: event.resource.id, version: 1 }])
})

test("a forged webhook is refused", async () => {
  const { headers } = signed(event)
  const forged = Buffer.from(JSON.stringify({ ...event, type: "quote.expired" }))
  const { status } = await newInbox().accept(headers, forged)
  assert.equal(status, 400)
})
