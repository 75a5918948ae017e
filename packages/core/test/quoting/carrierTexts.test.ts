import { describe } from "@effect/vitest"
import { Effect } from "effect"
import * as Change from "../../src/storage/Change.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { testInWorld } from "../support/world.ts"
import { options, story } from "./carrierTextStory.ts"

describe("text from carriers", () => {
  testInWorld("is sealed in every field in storage, and erased completely", () => {
    const texts: Array<string> = []
    /**
     * An in-memory storage that stores encoded text, as a database does, and records the text of records, events and
     * jobs.
     */
    const around = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      commit: (change) =>
        Effect.suspend(() => {
          const writes = change.writes.map((record) => Change.record({ ...record, body: record.body }))
          texts.push(JSON.stringify({ ...change, writes }))
          return storage.commit({ ...change, writes })
        })
    })
    return {
      ...options,
      around,
      body: story(Effect.sync(() => texts.join("\n")))
    }
  })
})
