import { quotewire } from "./quotewire.ts"
import { printKey } from "./service.ts"

const service = quotewire()
// Long polls return at once, and the server can stop.
process.once("SIGTERM", () => service.close())

await printKey(service)
