import { inPackage, test } from "../Mutant.ts"

const sender = "packages/http/test/webhooks/sender.test.ts"
const elicitation = "packages/mcp/test/elicitation.test.ts"

const ofHttp = inPackage("http")({
  "webhooks/Dial.ts": [
    {
      name: "the address of a connected socket is not checked",
      from: "if (socket.remoteAddress === undefined || !isAllowed(socket.remoteAddress))",
      to: "if (socket.remoteAddress === undefined)",
      found_by: test(sender, "checks the connected socket's address before it writes any byte")
    }
  ],
  "webhooks/NodeWebhookSender.ts": [
    {
      name: "a webhook is sent again over and over",
      from: "if (!isStale || this.hasRetried) return this.finish(failure)",
      to: "if (!isStale && this.hasRetried) return this.finish(failure)",
      found_by: test("packages/http/test/webhooks/misbehaving.test.ts", "connection_failed")
    }
  ],
  "host/RequestInfo.ts": [
    {
      name: "the first, forged address of a proxy header",
      from: "const entry = reported.pop()",
      to: "const entry = reported.shift()",
      found_by: test("packages/http/test/clientAddress.test.ts", "203.0.113.9, 198.51.100.7")
    }
  ],
  "host/Body.ts": [
    {
      name: "a body of exactly the limit is refused",
      from: "if (length > this.limit) {",
      to: "if (length >= this.limit) {",
      found_by: test(
        "packages/http/test/messageRoute.test.ts",
        "is not called for an invalid or missing key, or for an oversized body"
      )
    }
  ],
  "routes/Query.ts": [
    {
      name: "the last of a repeated parameter counts",
      from: "else if (values.has(name)) refused",
      to: "else if (values.size < 0) refused",
      found_by: test("packages/http/test/hostile.test.ts", "a repeated parameter")
    }
  ],
  "oauth/AccessTokens.ts": [
    {
      name: "a cached token outlives its expiry",
      from: "cachedCaller !== undefined && now < cachedCaller.expires_at",
      to: "cachedCaller !== undefined",
      found_by: test("packages/mcp/test/oauth.test.ts", "expires on time, with a small leeway, even if it is cached")
    }
  ],
  "oauth/TokenVerifier.ts": [
    {
      name: "a token for another resource",
      from: "        audience,\n",
      to: "",
      found_by: test(
        "packages/mcp/test/oauth.test.ts",
        "is refused with 401 and a reason if it is not valid for this service"
      )
    }
  ]
})

const ofMcp = inPackage("mcp")({
  "forms/RequestState.ts": [
    {
      name: "the person's answer for other arguments",
      from: "caller.key_id, tool, args, sealed]",
      to: "caller.key_id, tool, sealed]",
      found_by: test(
        elicitation,
        "is refused after ten minutes, if it is altered, from another caller, or with other arguments"
      )
    },
    {
      name: "the person's answer after it has expired",
      from: "({ expires_at }) => now < expires_at",
      to: "({ expires_at }) => now < expires_at + 60_000",
      found_by: test(
        elicitation,
        "is refused after ten minutes, if it is altered, from another caller, or with other arguments"
      )
    }
  ],
  "forms/StartQuestions.ts": [
    {
      name: "an agreement in the arguments",
      from: 'answer.action === "cancel") return "pending"',
      to: 'answer.action === "cancel") return "agreed"',
      found_by: test(elicitation, "gets a form with the exact disclosure, and its call continues if the person agrees")
    }
  ],
  "catalogue/OperationTool.ts": [
    {
      name: "tools that the caller may not call are listed",
      from: "(operation.authority.callers.includes(audience.kind) ? show(audience) : null)",
      to: "show(audience)",
      found_by: test("packages/mcp/test/tools.test.ts", "include only tools that the caller may call, in a fixed order")
    }
  ]
})

/** The HTTP host and the agent endpoint. */
export const hosts = [...ofHttp, ...ofMcp]
