import { Effect, type Layer, Predicate } from "effect"
import * as Pipeline from "../calls/Pipeline.ts"
import type { Fields, Resource, Revision, Served } from "../calls/Revision.ts"
import { mistakesIn } from "../calls/RevisionRules.ts"
import type { Client } from "../client/Client.ts"
import { embed } from "../embedding/embed.ts"
import * as ExampleApplications from "../lines/ExampleApplications.ts"
import { operations } from "../operations.ts"
import type { Services } from "../Quotewire.ts"
import type { Storage } from "../storage/Storage.ts"
import { ruleText } from "../wire/BrokenRule.ts"
import { Ids } from "../wire/Ids.ts"
import { ContractBroken } from "./carrier/carrierRule.ts"

/** A rule of the contract, and the program that checks it. */
export interface Case {
  readonly name: string
  /** Rejects with a `ContractBroken` if the rule is broken. */
  readonly run: () => Promise<void>
}

/** The options of the contract. */
export interface Options {
  /** A new, empty storage, such as `MemoryStorage.layer`. */
  readonly storage: Layer.Layer<Storage>
}

/**
 * The contract for revisions: what callers of every served revision can rely on.
 *
 * Each case sends a start call for `renters` to its own service, as a caller of the revision would. No test runner is
 * needed: if a rule is broken, `run` rejects with a `ContractBroken` whose message says what to do.
 *
 * @example
 * for (const { name, run } of RevisionContract.cases(revisions, { storage: MemoryStorage.layer })) {
 *   test(name, run)
 * }
 */
export const cases = (revisions: Served, { storage }: Options): ReadonlyArray<Case> => {
  const [, ...older] = revisions
  return [
    { name: "lists dates, newest first", run: async () => expectNone(mistakesIn(revisions).map(ruleText)) },
    { name: "names only operations of the API", run: async () => expectNone(older.flatMap(unknownOperations)) },
    ...older.flatMap((revision) =>
      rules.map(({ name, check }) => ({
        name: `${revision.date} ${name}`,
        run: () => onStage(revisions, storage, (stage) => check(revision, stage))
      }))
    )
  ]
}

const expectNone = (broken: ReadonlyArray<string>): void => {
  if (broken.length > 0) throw new ContractBroken({ broken_rules: [], message: broken.join("\n") })
}

const expectTrue = (isTrue: boolean, message: string): void => expectNone(isTrue ? [] : [message])

const names: ReadonlySet<string> = new Set(operations.map(({ name }) => name))

const unknownOperations = ({ date, differences }: Revision): ReadonlyArray<string> =>
  differences.flatMap(({ answers = {}, inputs = {} }) =>
    [...Object.keys(inputs), ...Object.keys(answers)]
      .filter((name) => !names.has(name))
      .map((name) => `${date} has a difference for ${name}, which is not an operation.`)
  )

/** The outcome of a call, as the caller sees it. */
interface Outcome {
  readonly body: Fields
  /** The paths of the wrong fields; null if the call was accepted. */
  readonly wrong: ReadonlyArray<string> | null
}

/** A service that serves the revisions, and two ways to call it. */
interface Stage {
  /** Calls an operation as a caller of the given revision. */
  readonly call: (name: string, input: Fields, date: string) => Promise<Outcome>
  /** Calls all operations in the newest revision. */
  readonly newest: Client
}

const onStage = async (
  revisions: Served,
  storage: Layer.Layer<Storage>,
  check: (stage: Stage) => Promise<void>
): Promise<void> => {
  const quotewire = embed({ storage, revisions })
  try {
    const { id: organization_id } = await quotewire.createOrganization("Contract")
    const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
    await check({
      call: (name, input, date) => quotewire.run(call(name, input, { key, date })),
      newest: quotewire.client(key)
    })
  } finally {
    await quotewire.close()
  }
}

const call = (name: string, input: Fields, { date, key }: { readonly date: string; readonly key: string }) =>
  Effect.gen(function* () {
    const ids = yield* Ids
    const operation = operations.find((candidate) => candidate.name === name)
    if (operation === undefined) return yield* Effect.die(new Error(`No such operation: ${name}`))
    const reply = yield* Pipeline.call<unknown, Services>(operation, {
      request_id: ids.request(),
      credentials: { key, read_handle: null, address: "contract", keyless: false },
      revision: { header: date },
      idempotency_key: null,
      input: Effect.succeed(input)
    })
    return outcomeOf(reply.text, null)
  }).pipe(
    Effect.catchTag(["invalid_input", "needs_information"], (error) =>
      Effect.succeed(
        outcomeOf(
          "{}",
          (error.field_errors ?? []).map(({ path }) => path)
        )
      )
    )
  )

const outcomeOf = (text: string, wrongFields: Outcome["wrong"]): Outcome => ({
  body: fieldsOf(JSON.parse(text)),
  wrong: wrongFields
})

const fieldsOf = (value: unknown): Fields => (Predicate.isReadonlyObject(value) ? { ...value } : {})

/** A start call as callers of the newest revision send it. */
const start = {
  line: "renters" as const,
  request_key: "contract",
  consent_receipt_id: "receipt-0001",
  application: ExampleApplications.smallest.renters
}

/** Makes a function that returns an older revision's name for a field of a start call. */
const nameIn =
  ({ differences }: Revision) =>
  (newerName: string): string =>
    differences.reduce((path, { inputs }) => inputs?.start_quote_request?.path(path) ?? path, newerName)

const startIn = (revision: Revision, fields: Fields): Fields => {
  const nameOf = nameIn(revision)
  return Object.fromEntries(Object.entries(fields).map(([newerName, value]) => [nameOf(newerName), value]))
}

const { consent_receipt_id: _, ...withoutConsent } = start

/** The rules that every older revision must follow. */
const rules: ReadonlyArray<{
  readonly name: string
  readonly check: (revision: Revision, stage: Stage) => Promise<void>
}> = [
  {
    name: "accepts a start call that uses the revision's own field names",
    check: async (revision, stage) => {
      const { wrong } = await stage.call("start_quote_request", startIn(revision, start), revision.date)
      expectTrue(
        wrong === null,
        `inputs.start_quote_request refuses ${wrong?.join(", ")}: make upgrade accept the names that path returns.`
      )
    }
  },
  {
    name: "refuses the field names of newer revisions",
    check: async (revision, stage) => {
      const nameOf = nameIn(revision)
      const renamed = Object.keys(start).filter((newerName) => nameOf(newerName) !== newerName)
      const { wrong } = await stage.call("start_quote_request", start, revision.date)
      const accepted = renamed.filter((newerName) => !wrong?.includes(newerName))
      expectNone(
        accepted.map(
          (newerName) =>
            `${newerName} is accepted besides ${nameOf(newerName)}: make upgrade leave ${newerName} unknown.`
        )
      )
    }
  },
  {
    name: "reports a missing field by the revision's own field name",
    check: async (revision, stage) => {
      const { wrong } = await stage.call("start_quote_request", startIn(revision, withoutConsent), revision.date)
      const receiptName = nameIn(revision)("consent_receipt_id")
      expectTrue(
        wrong?.includes(receiptName) === true,
        `A missing ${receiptName} is reported as ${wrong?.join(", ")}: correct \`path\`.`
      )
    }
  },
  {
    name: "refuses a field that exists in no revision",
    check: async (revision, stage) => {
      const unknown = { ...startIn(revision, start), no_such_field: true }
      const { wrong } = await stage.call("start_quote_request", unknown, revision.date)
      expectTrue(wrong?.includes("no_such_field") === true, "upgrade drops or renames fields that it does not know.")
    }
  },
  {
    name: "keeps the fields that identify and order events, quotes and quote requests",
    check: async (revision, stage) => {
      const { id } = await stage.newest.start_quote_request(start)
      await stage.newest.advance_time({ seconds: 60 }, { idempotency_key: "contract" })
      const { quote_request, quotes } = await stage.newest.get_quote_request({ id, wait_seconds: 0 })
      const { revisions } = await stage.newest.preview_revisions({ id: quotes[0]?.id ?? "" })
      const { body } = await stage.call("get_quote_request", { id, wait_seconds: 0 }, revision.date)
      const ownRevision = revisions.find((candidate) => candidate.revision === revision.date)
      expectNone([
        ...changed("quote_request", ["id", "version", "status"], quote_request, body.quote_request),
        ...changed("quote", ["id", "version", "status"], revisions[0]?.quote, ownRevision?.quote),
        ...changed("event", ["id", "type"], revisions[0]?.event, ownRevision?.event),
        ...merged("quote_request", quote_request, body.quote_request),
        ...merged("quote", revisions[0]?.quote, ownRevision?.quote),
        ...merged("event", revisions[0]?.event, ownRevision?.event)
      ])
    }
  }
]

/**
 * The mistake if two fields got the same name, so that an older revision shows fewer fields than the newest revision.
 */
const merged = (kind: Resource, newestValue: unknown, olderValue: unknown): ReadonlyArray<string> =>
  Object.keys(fieldsOf(olderValue)).length < Object.keys(fieldsOf(newestValue)).length
    ? [`${kind} has fewer fields than in the newest revision: a renamed field must not take another field's name.`]
    : []

/** The fields of a resource whose values differ between a revision and the newest revision. */
const changed = (kind: Resource, members: ReadonlyArray<string>, newestValue: unknown, olderValue: unknown) =>
  members
    .filter((name) => JSON.stringify(fieldsOf(olderValue)[name]) !== JSON.stringify(fieldsOf(newestValue)[name]))
    .map((name) => `${kind} changes ${name}: callers need it to tell a repeat from a change.`)
