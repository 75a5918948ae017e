/** Called once when the server starts, and not by `next build`. */
export const register = async (): Promise<void> => {
  if (process.env.NEXT_RUNTIME !== "nodejs") return
  const { quotewire } = await import("./lib/quotewire")
  const service = quotewire()
  // Long polls return at once, and the server can stop.
  process.once("SIGTERM", () => service.close())

  // A first key, to try it.
  const { id: organization_id } = await service.createOrganization("Shop")
  const { key } = await service.createKey({ organization_id, environment: "sandbox", kind: "server" })
  console.log(`key: ${key}`)
}
