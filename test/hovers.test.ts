import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { root } from "./support/sources.ts"
import ts from "./typed-client/node_modules/typescript/lib/typescript.js"

const folder = mkdtempSync(join(root, "test/typed-client/made-"))
afterAll(() => rmSync(folder, { recursive: true }))

const program = `import type { AnswerOf, Client, InputOf, OperatorMethods } from "@quotewire/core"
export const input: InputOf<"start_quote_request"> = {
  line: "pet",
  consent_receipt_id: "receipt-0001",
  request_key: "first",
  application: { residence: { state: "TX", zip: "78701" }, pets: [{ species: "dog", breed: "Boxer", age_years: 3 }] }
}
export const centsOf = (quote: AnswerOf<"get_quote">) => quote.price.premium?.amount_minor
export const cancel = (client: Client, id: string) => client.cancel_quote_request({ id })
export const create = (desk: OperatorMethods) => desk.create_organization({ name: "Acme" })
`

/** What an editor shows for a name in the program. */
const hovers = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const file = join(folder, "program.ts")
  writeFileSync(file, program)
  const service = ts.createLanguageService({
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (path) =>
      existsSync(path) ? ts.ScriptSnapshot.fromString(readFileSync(path, "utf8")) : undefined,
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => ({ module: ts.ModuleKind.NodeNext, strict: true, noEmit: true }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists
  })
  return names.map((name) => {
    const { documentation } = service.getQuickInfoAtPosition(file, program.indexOf(name)) ?? {}
    return ts.displayPartsToString(documentation)
  })
}

describe("an editor", () => {
  it("shows a schema's description for each field of an input, a fact and a response", () => {
    assert.deepStrictEqual(hovers(["request_key", "zip", "amount_minor"]), [
      "The caller's own ID for this call: the same key and input give the same request.",
      "The ZIP code: five digits, or five, a hyphen and four",
      "US cents"
    ])
  })

  it("shows an operation's description for its method", () => {
    assert.deepStrictEqual(hovers(["cancel_quote_request", "create_organization"]), [
      "Cancel a quote request. Cancels a request whose work has not begun. After that, it returns cannot_stop and changes nothing.",
      "Create an organization. Creates an organization with a sandbox and a live workspace. Repeating the call makes another one."
    ])
  })
})
