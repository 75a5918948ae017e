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

/** What a first program without Effect uses: the types, by the names under which this file exports them. */
const firstTypes = `import type { ApiErrorOf, Config, ConsumeOptions, Embedded, EmbedOptions, EventContext } from "@quotewire/core"
import type { InvalidArgument, InvalidConfig, Operators, ServiceFailed, WaitOptions } from "@quotewire/core"
import type { NodeHandlerOptions } from "@quotewire/http"
import type { ApiError, Client, ConnectOptions, HostError } from "@quotewire/http/client"
import type { WebHandlerOptions } from "@quotewire/http/web"
import type { McpOptions } from "@quotewire/mcp"
import type { PostgresOptions } from "@quotewire/storage-pg"
export * from "@quotewire/core"
export type T1 = EmbedOptions
export type T2 = Embedded
export type T3 = ConnectOptions
export type T4 = ApiErrorOf
export type T5 = ApiError
export type T6 = HostError
export type T7 = ServiceFailed
export type T8 = InvalidArgument
export type T9 = InvalidConfig
export type T10 = NodeHandlerOptions
export type T11 = WebHandlerOptions
export type T12 = Config
export type T13 = ConsumeOptions
export type T14 = WaitOptions
export type T15 = McpOptions
export type T16 = PostgresOptions
export type T17 = Client
export type T18 = EventContext
export type T19 = Operators
`

/** An editor's language service for both programs. */
const openEditor = () => {
  const files = { program: join(folder, "program.ts"), types: join(folder, "types.ts") }
  writeFileSync(files.program, program)
  writeFileSync(files.types, firstTypes)
  const service = ts.createLanguageService({
    getScriptFileNames: () => [files.program, files.types],
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
  return { files, service }
}

let opened: ReturnType<typeof openEditor> | null = null
const editor = () => (opened ??= openEditor())

/** What an editor shows for a name in the program. */
const hovers = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { files, service } = editor()
  return names.map((name) => {
    const { documentation } = service.getQuickInfoAtPosition(files.program, program.indexOf(name)) ?? {}
    return ts.displayPartsToString(documentation)
  })
}

/** Fields of every error, which TypeScript itself declares, and the tag that Effect adds. */
const ofEveryError = ["name", "message", "stack", "cause", "_tag"]

interface Documented {
  readonly name: string
  readonly text: string
}

/** The documentation of the members of the first types, and of the exports of the core that are not namespaces. */
const documentation = (): {
  readonly members: ReadonlyArray<Documented>
  readonly exports: ReadonlyArray<Documented>
} => {
  const { files, service } = editor()
  const made = service.getProgram()
  const checker = made?.getTypeChecker()
  const source = made?.getSourceFile(files.types)
  const module = source === undefined ? undefined : checker?.getSymbolAtLocation(source)
  if (checker === undefined || module === undefined) return assert.fail("There is no program.")
  const documented = (symbol: ts.Symbol, owner = ""): Documented => ({
    name: owner + symbol.name,
    text: ts.displayPartsToString(symbol.getDocumentationComment(checker))
  })
  const all = checker.getExportsOfModule(module)
  const own = all.filter(({ name }) => /^T\d+$/.test(name))
  return {
    members: own.flatMap((alias) => {
      const type = checker.getDeclaredTypeOfSymbol(alias)
      const owner = `${checker.typeToString(type)}.`
      const parts = type.isUnion() ? type.types : [type]
      return parts
        .flatMap((part) => checker.getPropertiesOfType(part))
        .filter(({ name }) => !ofEveryError.includes(name) && !/^(?:__@|~effect)/.test(name))
        .filter((member) => (member.flags & ts.SymbolFlags.Property) !== 0)
        .map((member) => documented(member, owner))
    }),
    exports: all
      .filter((one) => !own.includes(one))
      .map((one) => ((one.flags & ts.SymbolFlags.Alias) === 0 ? one : checker.getAliasedSymbol(one)))
      .filter(({ flags }) => (flags & ts.SymbolFlags.ValueModule) === 0)
      .map((one) => documented(one))
  }
}

describe("an editor", () => {
  it("shows a schema's description for each field of an input, fact or response", () => {
    assert.deepStrictEqual(hovers(["request_key", "zip", "amount_minor"]), [
      "The caller's own ID for this call: the same key and input give the same request.",
      "The ZIP code: five digits, or five, a hyphen and four",
      "US cents"
    ])
  })

  it("shows an operation's description for its method", () => {
    assert.deepStrictEqual(hovers(["cancel_quote_request", "create_organization"]), [
      "Cancel a quote request. Cancels a request that has not started yet. Otherwise returns cannot_stop and changes nothing.",
      "Create an organization. Creates an organization with a sandbox and a live workspace. Repeating the call makes another one."
    ])
  })

  it("shows a description for every option, method and error field in a first program", () => {
    const { exports, members } = documentation()
    const undescribed = ({ text }: Documented) => !/^[A-Z`].{8}/s.test(text)
    assert.isAbove(members.length, 150)
    assert.isAbove(exports.length, 80)
    assert.deepStrictEqual(
      [...members, ...exports].filter(undescribed).map(({ name }) => name),
      []
    )
  })
})
