import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { passed, run, surprises } from "./conformance.ts"
import { conformanceTools } from "./conformanceTools.ts"
import { AgentHosts, agentHosts } from "./host.ts"

/** The scenarios that a tool server must pass in any revision. */
const always = [
  ...["tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource"],
  ...["tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "json-schema-2020-12"],
  "dns-rebinding-protection"
]

/** The scenarios that a server that asks the person questions must pass, in the revision without a handshake. */
const questions = [
  ...["basic-elicitation", "request-state", "multi-round", "missing-input-response", "result-type", "tampered-state"],
  ...["validate-input", "unsupported-methods"]
].map((name) => `input-required-result-${name}`)

/** The scenarios that a server with a handshake must pass. */
const handshake = ["server-initialize", "ping", "tools-call-elicitation"]

const musts = {
  "0.1.16": [...always, ...handshake],
  "2025-11-25": [...always, ...handshake, "server-session-lifecycle"],
  "2026-07-28": [...always, ...questions, "http-header-validation"]
} as const

layer(agentHosts({ tools: conformanceTools }), { excludeTestServices: true })("the MCP endpoint", (it) => {
  it.effect.each(["0.1.16", "2025-11-25", "2026-07-28"] as const)(
    "the official MCP conformance suite reports no unexpected failure: %s",
    (suite) =>
      Effect.gen(function* () {
        const { base_urls } = yield* AgentHosts
        const scenarios = yield* Effect.promise(() => run(suite, `${base_urls[0]}/v1/mcp`))
        assert.deepStrictEqual(surprises(suite, scenarios), [])
        assert.includeMembers([...passed(scenarios)], [...musts[suite]])
      })
  )
})
