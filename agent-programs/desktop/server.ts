import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { ApiKey, HttpAddress } from "@quotewire/core/program"
import { Bridge, StdioServer } from "@quotewire/mcp/stdio"
import { Console, Effect, Layer, Option, Result } from "effect"
import { FetchHttpClient } from "effect/http"

/*
 * The server of the desktop bundle: it connects the desktop program to the host in its settings. A setting that was left empty is
 * an empty text here.
 */

const { QUOTEWIRE_API_KEY: key = "", QUOTEWIRE_BASE_URL: address = "" } = process.env
const base_url = Option.getOrNull(Result.getSuccess(HttpAddress.readBase(address)))

const refuse = (message: string) =>
  Effect.andThen(
    Console.error(`quotewire: ${message}`),
    Effect.sync(() => {
      process.exitCode = 2
    })
  )

const program = Effect.suspend(() => {
  if (base_url === null) return refuse("The address of the host must be such as https://quotes.example.com.")
  if (key !== "" && !ApiKey.isWellFormed(key)) return refuse("The API key must be complete, such as live_platform_….")
  return Effect.flatMap(Bridge.make({ base_url, key: key === "" ? null : key }), (answer) =>
    StdioServer.serve({ answer, wake: Effect.void })
  )
})

NodeRuntime.runMain(Effect.provide(program, Layer.merge(NodeServices.layer, FetchHttpClient.layer)))
