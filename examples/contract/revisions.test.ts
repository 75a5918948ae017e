import { Revision } from "@quotewire/core"
import { RevisionContract } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { test } from "vitest"

/**
 * Two API revisions: the newest revision under an invented date, and an older revision in which a quote's `price` was
 * called `cost`.
 */
const revisions: Revision.Served = [
  { date: "2027-01-15", differences: [] },
  {
    date: "2026-09-26",
    differences: [
      Revision.renames({
        summary: "A quote's price was its cost, and a start call's line its product.",
        quote: { price: "cost" },
        inputs: { start_quote_request: { line: "product" } }
      })
    ]
  }
]

for (const { name, run } of RevisionContract.cases(revisions, { storage: MemoryStorage.layer })) test(name, run)
