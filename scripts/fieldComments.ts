import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { operations, operatorOperations } from "@quotewire/core"
import { Predicate, Schema, SchemaAST } from "effect"

/*
 * Makes editors show what a field means and what a client's method does. Copies the descriptions in schemas and
 * operations into the built types, as comments above the fields and methods. So each description is written once, in
 * the schema or the operation, and appears in both the documents and the types.
 *
 * The build runs this script after the compiler, which writes each field of a `Schema.Struct` on its own line. Files
 * that were already processed stay unchanged.
 */

const packages = fileURLToPath(new URL("../packages/", import.meta.url))

const field = /^( +)(?:readonly )?(\w+)\??: /

/**
 * Finds the schemas that a line of types belongs to: a constant's schema, or the input and response schemas of an
 * operation.
 */
const beginning = (line: string, module: Module): ReadonlyArray<SchemaAST.AST> => {
  const [, constant] = /^export declare const (\w+): Schema\./.exec(line) ?? []
  if (constant !== undefined) return [module[constant]].filter(Schema.isSchema).map(({ ast }) => ast)
  const [, name, hasNoInput] = /Operation<"(\w+)", (\{\}, )?\{$/.exec(line) ?? []
  const operation = Object.values(module)
    .flat()
    .find((value) => Predicate.hasProperty(value, "name") && value.name === name)
  if (!Predicate.hasProperty(operation, "input") || !Predicate.hasProperty(operation, "output")) return []
  const schemas = [operation.input, operation.output].filter(Schema.isSchema).map(({ ast }) => ast)
  return hasNoInput === undefined ? schemas : schemas.slice(1)
}

type Module = Readonly<Record<string, unknown>>

/** The description of a field in its schema. */
const textOf = (ast: SchemaAST.AST): string | undefined => {
  const { description, title } = { ...SchemaAST.resolve(ast), ...ast.context?.annotations }
  const texts = [title, description].filter(Predicate.isString)
  return texts.length === 0 ? undefined : texts.join(". ")
}

/** Finds a field's schema in an object, in the items of a list, or in one of several alternatives. */
const fieldIn = (ast: SchemaAST.AST, name: string): SchemaAST.AST | undefined => {
  if (SchemaAST.isObjects(ast)) return ast.propertySignatures.find((signature) => signature.name === name)?.type
  const parts = SchemaAST.isArrays(ast) ? ast.rest : SchemaAST.isUnion(ast) ? ast.types : []
  for (const part of parts) {
    const namedField = fieldIn(part, name)
    if (namedField !== undefined) return namedField
  }
  return undefined
}

/** Adds comments to a module's types. They replace the comments from an earlier build. */
const commented = (types: string, module: Module): string => {
  let [outermost, ...next]: ReadonlyArray<SchemaAST.AST> = []
  const above: Array<{ readonly indent: number; readonly ast: SchemaAST.AST | undefined }> = []
  const lines: Array<string> = []
  for (const line of types.split("\n")) {
    if (/^[^ ]/.test(line)) {
      const begun = beginning(line, module)
      ;[outermost, ...next] = begun.length > 0 ? begun : line === "}, {" ? next : []
      above.length = 0
    }
    const [, indent, name] = field.exec(line) ?? []
    if (indent !== undefined && name !== undefined) {
      above.splice(above.findLastIndex((outer) => outer.indent < indent.length) + 1)
      const outer = above.length === 0 ? outermost : above.at(-1)?.ast
      const ast = outer && fieldIn(outer, name)
      above.push({ indent: indent.length, ast })
      const text = ast && textOf(ast)
      if (text !== undefined) {
        if (/^ +\/\*\* .* \*\/$/.test(lines.at(-1) ?? "")) lines.pop()
        lines.push(`${indent}/** ${text.replaceAll("*/", "* /").replaceAll("\n", " ")} */`)
      }
    }
    lines.push(line)
  }
  return lines.join("\n")
}

/** Matches the method of an operation in the types of a client. */
const method = /^( +)readonly (\w+): (?:Method<"|StartMethod<)/

interface DescribedOperation {
  readonly name: string
  readonly summary: string
  readonly description: string
}

/** Adds comments to the methods of a client. They replace the comments from an earlier build. */
const withMethods = (types: string, operations: ReadonlyArray<DescribedOperation>): string => {
  const lines: Array<string> = []
  for (const line of types.split("\n")) {
    const [, indent = "", name] = method.exec(line) ?? []
    const operation = operations.find((candidate) => candidate.name === name)
    if (operation !== undefined) {
      if (/^ +\/\*\* .* \*\/$/.test(lines.at(-1) ?? "")) lines.pop()
      lines.push(`${indent}/** ${operation.summary}. ${operation.description} */`)
    }
    lines.push(line)
  }
  return lines.join("\n")
}

const clients: ReadonlyArray<readonly [string, ReadonlyArray<DescribedOperation>]> = [
  ["core/dist/client/Client.d.ts", operations],
  ["core/dist/embedding/EmbeddedOperators.d.ts", operatorOperations]
]
for (const [path, described] of clients) {
  const file = join(packages, path)
  const types = readFileSync(file, "utf8")
  const text = withMethods(types, described)
  if (text !== types) writeFileSync(file, text)
}

for (const name of readdirSync(packages)) {
  const dist = join(packages, name, "dist")
  if (!existsSync(dist)) continue
  for (const path of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".d.ts")) continue
    const file = join(dist, path)
    const types = readFileSync(file, "utf8")
    if (!/Struct<\{|Operation<"/.test(types)) continue
    const text = commented(types, await import(pathToFileURL(file.replace(/\.d\.ts$/, ".js")).href))
    if (text !== types) writeFileSync(file, text)
  }
}
