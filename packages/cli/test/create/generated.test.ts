import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { connect, type InputOf } from "@quotewire/http/client"
import { Effect } from "effect"
import { afterAll } from "vitest"
import type { Choices } from "../../src/create/Choices.ts"
import { freePort } from "../support/freePort.ts"
import { launch, stopped } from "../support/program.ts"
import { allChoices, nameOf, projectsFolder, testFailures, typeErrors, writeProject } from "../support/projects.ts"

/*
 * Projects that `quotewire create` writes, with the packages of this repository as built. `npm run create-all` does this for all
 * of them.
 */

const { folder, remove } = projectsFolder()
afterAll(remove)

/** A sample of all combinations, chosen by a seed. */
const sampleOf = (seed: number, size: number): ReadonlyArray<Choices> =>
  Array.from({ length: size }, (_, index) => {
    // A step size that is coprime to the number of combinations visits all of them.
    const choices = allChoices[(seed + index * 55) % allChoices.length]
    return choices ?? assert.fail("there are no choices")
  })

/** A different sample each day. The test name contains the seed. */
const seed = Number(process.env.QUOTEWIRE_TEST_SEED ?? Math.floor(Date.now() / 86_400_000) % allChoices.length)

/** Waits until a process prints a match of the pattern, and returns its first group. */
const printed = async (running: ReturnType<typeof launch>, pattern: RegExp): Promise<string> => {
  const ended = running.ended.then(({ stderr, stdout }) => assert.fail(stdout + stderr))
  ended.catch(() => {})
  for (;;) {
    const [, found] = pattern.exec(running.output()) ?? []
    if (found !== undefined) return found
    await Promise.race([once(running.child.stdout, "data"), ended])
  }
}

describe("a new project", () => {
  it(`type-checks for a sample of all choices (QUOTEWIRE_TEST_SEED=${seed})`, () => {
    const sample = sampleOf(seed, 8)
    assert.strictEqual(typeErrors(sample), "", sample.map(nameOf).join(", "))
  })

  const complete: Choices = { place: "fastify", carrier: "json", line: true, receiver: true, docker: false }
  const project = join(folder, nameOf(complete))

  it("passes its own tests", () => {
    writeProject(project, complete)
    assert.strictEqual(testFailures(project), "")
    // Verifies that these checks can fail.
    const file = join(project, "test/quotes.test.ts")
    writeFileSync(file, readFileSync(file, "utf8").replace("20_079", "1"))
    assert.include(testFailures(project), "20079")
  })

  it("serves quotes and sends a webhook to its receiver", async () => {
    writeProject(project, complete)
    const base_url = `http://localhost:${await Effect.runPromise(freePort)}/insurance`
    // As `npm run dev` and `npm run receiver` start them.
    const server = launch(["--env-file=.env.development", "src/server.ts"], { PORT: new URL(base_url).port }, project)
    try {
      const key = await printed(server, /^key: (\S+)$/m)
      const client = connect({ base_url, key })
      const settings = { QUOTEWIRE_API_KEY: key, QUOTEWIRE_BASE_URL: base_url }
      const receiver = launch(["receiver/main.ts"], settings, project)
      try {
        await printed(receiver, /(Receives webhooks)/)
        const { id } = await client.start_quote_request(callInReadme())
        await client.advance_time({ seconds: 60 }, { idempotency_key: "one-minute" })
        const { quotes } = await client.wait_for_quotes(id)
        assert.deepStrictEqual(
          quotes.map(({ price }) => price.premium?.amount_minor),
          [16_604, 20_079, 18_842]
        )
        assert.strictEqual(await printed(receiver, /Harborline Mutual \(sandbox\): (.*)/), "active, 20079 cents")
      } finally {
        await stopped(receiver.child)
      }
    } finally {
      await stopped(server.child)
    }
  })

  /** The body of the first call in the project's README. */
  const callInReadme = (): InputOf<"start_quote_request"> => {
    const [, body = ""] = /-d '(\{\n[\s\S]*?\n\})'/.exec(readFileSync(join(project, "README.md"), "utf8")) ?? []
    return JSON.parse(body.replace("'$(date +%s)'", "1"))
  }
})
