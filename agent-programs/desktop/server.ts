import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { ApiKey } from "@quotewire/core/program"
import { Bridge, StdioServer } from "@quotewire/mcp/stdio"
import { Console, Effect, Layer, Option } from "effect"
import { FetchHttpClient } from "effect/http"

/*
 * The server of the desktop bundle: it connects the desktop program to the host in its settings. A setting that was left empty is
 * an empty text here.
 */

const { QUOTEWIRE_API_KEY: key = "", QUOTEWIRE_BASE_URL: address = "" } = process.env
const baseUrl = Option.getOrNull(Bridge.readHost(address))

const refuse = (message: string) =>
  Effect.andThen(
    Console.error(`quotewire: ${message}`),
    Effect.sync(() => {
      process.exitCode = 2
    })
  )

const program = Effect.suspend(() => {
  if (baseUrl === null) return refuse(`The setting "Address of the host" must ${Bridge.hostRule}.`)
  if (key !== "" && !ApiKey.isWellFormed(key)) {
    return refuse('The setting "API key" must be a complete API key, such as live_platform_….')
  }
  return Effect.flatMap(Bridge.make({ base_url: baseUrl, key: key === "" ? null : key }), (answer) =>
    StdioServer.serve({ answer, wake: Effect.void })
  )
})

NodeRuntime.runMain(Effect.provide(program, Layer.merge(NodeServices.layer, FetchHttpClient.layer)))
