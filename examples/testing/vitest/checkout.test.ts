import { sandbox } from "@quotewire/storage-memory/testing"
import { expect, test } from "vitest"
import { checkOut, type Order } from "../checkout.ts"

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
const order: Order = { number: "order-1", consent_receipt_id: "receipt-0001", application }

test("the checkout links to the quote that the person picks", async () => {
  await using world = await sandbox()
  const page = await world.advanceUntil(checkOut(world.client, order, async (quotes) => quotes[1]))
  expect(page).toMatchObject({ shows: "link", carrier: "Harborline Mutual (sandbox)", cents: 20_079 })
})

test("the checkout asks for missing facts", async () => {
  await using world = await sandbox()
  const unknown = { ...order, application: { dwelling: { type: "apartment" } } } as const
  const page = await checkOut(world.client, unknown, async () => undefined)
  expect(page).toEqual({
    shows: "questions",
    about: ["application.dwelling.address.state", "application.dwelling.address.zip"]
  })
})

test("the checkout shows no offer if every carrier declines", async () => {
  await using world = await sandbox({ scenario: "zero_quotes" })
  const page = await world.advanceUntil(checkOut(world.client, order, async (quotes) => quotes[0]))
  expect(page).toEqual({ shows: "no_offer" })
})

test("the checkout shows a price that changed while the person was deciding", async () => {
  await using world = await sandbox({ scenario: "price_update" })
  const page = await world.advanceUntil(
    checkOut(world.client, order, async (quotes) => {
      await world.advance("10 minutes")
      return quotes[0]
    })
  )
  expect(page).toEqual({ shows: "new_price", cents: 17_351 })
})
