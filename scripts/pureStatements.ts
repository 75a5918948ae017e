import type { Plugin } from "rolldown"
import type { parseAst } from "rolldown/parseAst"

/*
 * A bundler plugin that lets the bundlers of programs leave out what a program does not use. A bundler keeps a
 * constant that a call creates, even if nothing uses it, because the call may have effects. So each such constant is
 * created by a function that is marked as pure: `const a = make(b.c)` becomes
 * `const a = /* @__PURE__ *\/ (() => make(b.c))()`. A mark on the call itself would not cover its arguments. The rules
 * for modules make this safe: loading a module of a package has no effects (`"sideEffects": false`).
 */

type Program = ReturnType<typeof parseAst>
type Statement = Program["body"][number]
type Class = Extract<Statement, { readonly superClass: unknown }>
type Expression = Extract<Statement, { readonly type: "ExpressionStatement" }>["expression"]
type Declarator = Extract<Statement, { readonly type: "VariableDeclaration" }>["declarations"][number]
/** A part of a module's text, and the text that replaces it. */
type Edit = readonly [start: number, end: number, code: string]

const pure = (expression: string): string => `/* @__PURE__ */ (() => ${expression})()`

/** Whether bundlers know that evaluating an expression has no effects. */
const isPlain = (node: Expression): boolean => {
  switch (node.type) {
    case "Literal":
    case "Identifier":
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return true
    case "ArrayExpression":
      return node.elements.every((item) => item !== null && item.type !== "SpreadElement" && isPlain(item))
    case "ObjectExpression":
      return node.properties.every((field) => field.type === "Property" && !field.computed && isPlain(field.value))
    default:
      return false
  }
}

const isPlainClass = ({ body, superClass }: Class): boolean =>
  superClass === null &&
  body.body.every((member) => member.type !== "StaticBlock" && (member.type === "MethodDefinition" || !member.static))

/** The names that a pattern such as `{ a, ...rest }` binds. */
const namesIn = (pattern: Declarator["id"]): ReadonlyArray<string> => {
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name]
    case "AssignmentPattern":
      return namesIn(pattern.left)
    case "ArrayPattern":
      return pattern.elements.flatMap((item) =>
        item === null ? [] : namesIn(item.type === "RestElement" ? item.argument : item)
      )
    case "ObjectPattern":
      return pattern.properties.flatMap((field) => namesIn(field.type === "RestElement" ? field.argument : field.value))
  }
}

const editsOf = (statement: Statement, code: string): ReadonlyArray<Edit> => {
  const textOf = (node: { readonly start: number; readonly end: number }) => code.slice(node.start, node.end)
  const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
  if (declared?.type === "ClassDeclaration" && !isPlainClass(declared))
    return [[declared.start, declared.end, `const ${declared.id?.name} = ${pure(textOf(declared))};`]]
  if (declared?.type !== "VariableDeclaration") return []
  return declared.declarations.flatMap(({ id, init, start, end }): ReadonlyArray<Edit> => {
    if (init === null || isPlain(init)) return []
    // After `=>`, a brace would begin a body instead of an object.
    const initializer = pure(init.type === "ObjectExpression" ? `(${textOf(init)})` : textOf(init))
    if (id.type === "Identifier") return [[init.start, init.end, initializer]]
    const whole = `whole${start}`
    const parts = namesIn(id).map((name) => `${name} = /* @__PURE__ */ ((${textOf(id)}) => ${name})(${whole})`)
    return [[start, end, [`${whole} = ${initializer}`, ...parts].join(", ")]]
  })
}

/** Marks what creates a module's constants and classes as pure. */
export const pureStatements: Plugin = {
  name: "pure statements",
  transform: {
    filter: { id: /\.js$/ },
    handler(code) {
      let text = ""
      let at = 0
      for (const [start, end, replacement] of this.parse(code).body.flatMap((statement) => editsOf(statement, code))) {
        text += code.slice(at, start) + replacement
        at = end
      }
      return text + code.slice(at)
    }
  }
}
