import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { operations, operatorOperations, ratePlanSchema, standardLines } from "@quotewire/core"
import { OpenApi, OperatorsDocument } from "@quotewire/http"
import { lint } from "../packages/http/test/support/lint.ts"
import { examples } from "./examples.ts"
import { codesPage, linePage } from "./lineReference.ts"

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))

/** The files that this script writes. */
export const targets = {
  examples: path("packages/http/src/documents/data/examples.json"),
  document: path("docs/reference/openapi.json"),
  operators: path("docs/reference/operators.openapi.json"),
  ratePlan: path("docs/reference/rate-plan.schema.json"),
  readme: path("docs/reference/README.md"),
  codes: path("docs/reference/codes.md"),
  ...Object.fromEntries(standardLines.map(({ name }) => [name, path(`docs/reference/lines/${name}.md`)]))
}

const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** Matches the linter's output in the reference's README. The rest of that README is written by hand. */
const linted = /(<!-- linted -->\n)[\s\S]*(<!-- \/linted -->)/

/** Generates the contents of the files from the running code. */
export const generate = async (): Promise<Readonly<Record<string, string>> & { readonly readme: string }> => {
  const recorded = await examples()
  const document = OpenApi.document(operations, OpenApi.recorded_at, { examples: recorded })
  const { command, code, printed } = await lint(document)
  const transcript = `\`\`\`console\n$ ${command}\n${printed.trim()}\n$ echo $?\n${code}\n\`\`\``
  return {
    examples: pretty(recorded),
    document: pretty(document),
    operators: pretty(OperatorsDocument.document(operatorOperations, OpenApi.recorded_at)),
    ratePlan: pretty(ratePlanSchema),
    codes: codesPage(),
    ...Object.fromEntries(standardLines.map((line) => [line.name, linePage(line)])),
    readme: readFileSync(targets.readme, "utf8").replace(linted, (_, begin, end) => `${begin}\n${transcript}\n\n${end}`)
  }
}

if (import.meta.main) {
  const texts = await generate()
  for (const [name, file] of Object.entries(targets)) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, texts[name] ?? "")
  }
}
