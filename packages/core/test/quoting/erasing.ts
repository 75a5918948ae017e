import { Effect, Option } from "effect"
import { openRecord, Seal } from "../../src/access/sealing/Seal.ts"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { kinds } from "../../src/kinds.ts"
import type { ErasureReport } from "../../src/quoting/erasing/Erasure.ts"
import { Erasures } from "../../src/quoting/erasing/Erasures.ts"
import { eachPage, Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import type { WorkspaceId } from "../../src/wire/Ids.ts"
import { offer } from "./carriers.ts"

/* Erases personal data in tests, and reads what is stored afterwards. */

export const environments = ["sandbox", "live"] as const
export const by = "ticket 4711"

export const erase = (target: Parameters<Erasures["Service"]["erase"]>[0], options: object = {}) =>
  Erasures.use((erasures) => erasures.erase(target, { by, ...options }))

export const eraseRequest = (quote_request_id: string, options: object = {}) => erase({ quote_request_id }, options)

export const eraseReceipt = (
  consent_receipt_id: string,
  environment: (typeof environments)[number] = "sandbox",
  options: object = {}
) =>
  Effect.flatMap(World, ({ organization }) =>
    erase({ consent_receipt_id, organization_id: organization.id, environment }, options)
  )

export const nothing: ErasureReport = { erased: 0, already_erased: 0, to_erase: 0, requests: [] }

export const countsOf = ({ already_erased, erased, to_erase }: ErasureReport) => ({ erased, already_erased, to_erase })

/** Every text stored in a workspace, unsealed, except reports about the API, which belong to no person. */
export const storedTexts = Effect.fnUntraced(function* (workspace_id: WorkspaceId) {
  const storage = yield* Storage
  const seal = yield* Seal
  const texts: Array<string> = []
  for (const kind of kinds.all.filter(({ name }) => name !== "feedback")) {
    yield* eachPage(storage, { workspace_id, kind: kind.name, order: "oldest", limit: 100 }, (records) =>
      Effect.forEach(records, ({ id, version }) =>
        Effect.gen(function* () {
          for (let older = 1; older <= version; older++) {
            const found = yield* storage.get({ workspace_id, kind: kind.name, id, version: older })
            if (Option.isNone(found)) continue
            const opened = kind.sealed ? yield* openRecord(seal, workspace_id, found.value) : found
            texts.push(
              JSON.stringify(
                Option.map(opened, ({ body, id: recordId, kind: recordKind, labels, parent }) => [
                  recordKind,
                  recordId,
                  parent,
                  labels,
                  body
                ])
              )
            )
          }
        })
      )
    )
  }
  const { events } = yield* storage.feed({ workspace_id, after: 0, limit: 1_000 })
  return [...texts, ...events.map(({ body }) => body)].join("\n")
})

/** Carrier text that names the person's pet. */
export const aboutPet = offer({ conditions: ["For Wuschelbart"], evidence_label: "Wuschelbart's price" })
export const question: CarrierReply = {
  kind: "question",
  questions: [{ path: "application.pets.0.weight", label: "How heavy is Wuschelbart?", allowed_values: [] }]
}
