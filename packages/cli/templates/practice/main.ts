import { startCarrier } from "./server.ts"

const { url } = await startCarrier({ port: 8_799, callback_secret: "practice" })
console.log(`The carrier's API, for practice, is at ${url}. A bad day: curl -X PUT ${url}/weather/maintenance`)
