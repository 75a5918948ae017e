import { quotewire } from "./quotewire.ts"
import { printKey } from "./service.ts"

const service = quotewire()
// Closing the service ends pending long polls immediately, so that the server can stop.
process.once("SIGTERM", () => service.close())

await printKey(service)
