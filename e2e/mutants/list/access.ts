import { inPackage, test } from "../Mutant.ts"

const limits = "packages/core/test/access/limits.test.ts"
const pipeline = "packages/core/test/calls/pipeline.test.ts"

/** Keys, handles, cursors, sealing, limits, and calls that are repeated. */
export const access = inPackage("core")({
  "access/Access.ts": [
    {
      name: "a revoked key",
      from: "if (apiKey === null || apiKey.revoked_at !== null) {",
      to: "if (apiKey === null) {",
      found_by: test(
        "packages/core/test/access/revoking.test.ts",
        "is refused immediately on the host that revoked the key, and within a second on other hosts"
      )
    }
  ],
  "access/KnownKeys.ts": [
    {
      name: "a key that was looked up before its revocation",
      from: "    if (generation !== this.revocations) return\n",
      to: "",
      found_by: test(
        "packages/core/test/access/revoking.test.ts",
        "is not cached by a concurrent call that looked it up before the revocation"
      )
    }
  ],
  "access/PartnerLink.ts": [
    {
      name: "a partner link with any signature",
      from: "if (mac === null || !Seal.areEqual(Seal.signatureOf(mac), signature)) return null",
      to: "if (mac === null) return null",
      found_by: test(
        "packages/core/test/access/partnerLinks.test.ts",
        "stops working if any of its characters is changed"
      )
    },
    {
      name: "a partner link at the moment it ends",
      from: "now >= ends_at_s * secondMs",
      to: "now > ends_at_s * secondMs",
      found_by: test(
        "packages/core/test/access/partnerLinks.test.ts",
        "expires in real time, whatever the sandbox's clock says"
      )
    }
  ],
  "access/ReadHandle.ts": [
    {
      name: "a read handle at the moment it expires",
      from: "now >= stored.expires_at",
      to: "now > stored.expires_at",
      found_by: test(
        "packages/core/test/access/authority.test.ts",
        "expires a day after the first start call, even if a retry returns the handle again"
      )
    }
  ],
  "access/Cursor.ts": [
    {
      name: "a cursor with other filters",
      from: "scope.filters ?? {}, encoded]",
      to: "encoded]",
      found_by: test(
        "packages/core/test/events/cursors.test.ts",
        "rejects a cursor that is altered, from another list, or used with other filters"
      )
    }
  ],
  "access/sealing/Seal.ts": [
    {
      name: "a sealed record is not bound to its workspace",
      from: `\`\${workspaceId} \${kind} \${id} \${version}\``,
      to: `\`\${kind} \${id} \${version}\``,
      found_by: test(
        "packages/core/test/access/moved.test.ts",
        "reveal no quote, secret or response to that organization"
      )
    },
    {
      name: "a sealed record is not bound to its version",
      from: `\`\${workspaceId} \${kind} \${id} \${version}\``,
      to: `\`\${workspaceId} \${kind} \${id}\``,
      found_by: test(
        "packages/core/test/access/moved.test.ts",
        "cannot be opened in another workspace, or as another kind, id or version"
      )
    }
  ],
  "access/limits/Allowance.ts": [
    {
      name: "a limit that is off by one",
      from: "used + units > limitCounter.limit",
      to: "used + units >= limitCounter.limit",
      found_by: test(limits, "allows a key 60 starts, 600 reads and 120 other calls a minute, counted separately")
    },
    {
      name: "Retry-After of the limit that ends first",
      from: "endOf(b) > endOf(a) ? b : a",
      to: "endOf(b) > endOf(a) ? a : b",
      found_by: test(
        "packages/core/test/access/retryAfter.property.test.ts",
        "is exact: a call one second early is refused, and a call on time is accepted"
      )
    },
    {
      name: "a refused test counts",
      from: "for (const { count, units } of charges) counts.add(count, -units)",
      to: "for (const { count } of charges) counts.add(count, 0)",
      found_by: test(
        "packages/core/test/webhooks/testsAndReplays.test.ts",
        "count toward the limit only if they were queued"
      )
    }
  ],
  "calls/IdempotentCalls.ts": [
    {
      name: "an idempotency key is compared without its input",
      from: "if (!(yield* Fingerprint.matches(seal, place, previous.fingerprint, sent))) return yield* otherInput\n",
      to: "",
      found_by: test(
        "packages/core/test/webhooks/subscriptions.test.ts",
        "returns the first response without the signing secret"
      )
    },
    {
      name: "a repeat runs beside the first call",
      from: "if (realNow < previous.until) return yield* stillRunning",
      to: "",
      found_by: test(pipeline, "can be retried half a minute after its host has died, and not before")
    }
  ],
  "calls/Fingerprint.ts": [
    {
      name: "inputs of the same length are equal",
      from: "mac !== null && areEqual(join(mac, text), fingerprint)",
      to: "mac !== null",
      found_by: test(
        "packages/core/test/quoting/starts.test.ts",
        "cannot be reused with a different input, even if only one field differs"
      )
    }
  ],
  "calls/Operation.ts": [
    {
      name: "a call without authority",
      from: "authority.callers.includes(caller.kind)",
      to: "true",
      found_by: test(
        "packages/core/test/access/authority.test.ts",
        "lets a caller without a key start and read a request, but never cancel it"
      )
    },
    {
      name: "a partner link that reads any request",
      from: "input[by_link] === shared_id",
      to: "input[by_link] !== null",
      found_by: test(
        "packages/core/test/access/partnerLinks.test.ts",
        "can open one request and its events, and nothing else"
      )
    }
  ]
})
