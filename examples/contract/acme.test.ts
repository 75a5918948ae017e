import { CarrierContract } from "@quotewire/core/testing"
import { describe, test } from "vitest"
import cassette from "./acme.cassette.json" with { type: "json" }
import { acme } from "./acme.ts"
import facts from "./facts.json" with { type: "json" }

describe("Acme Mutual", () => {
  for (const { name, run } of CarrierContract.cases(acme, facts, { cassette })) test(name, run)
})
