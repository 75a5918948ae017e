import { Function, Schema, SchemaAST } from "effect"
import type { LineSet } from "./Lines.ts"

/*
 * Schemas that depend on a host's lines, such as the name of a line. Stored data may be for a line that the host no
 * longer offers, so such a schema accepts any line at first. Inputs and documents use the schema narrowed to the host's
 * lines.
 */

/** Makes the narrowed form of a schema for a host with these lines. */
type OnHost = (lines: LineSet) => Schema.Top

const key = "on_host"

/** Marks a schema that depends on a host's lines. Without narrowing, the schema accepts what any host accepts. */
export const dependsOnLines = <S extends Schema.Top>(schema: S, onHost: OnHost): S["Rebuild"] =>
  schema.annotate({ [key]: onHost })

/** Narrows a schema for a host with these lines, in every part that depends on the lines. */
export const forLines = <S extends Schema.Constraint>(schema: S, lines: LineSet): S =>
  Schema.make<S>(narrowing(lines)(schema.ast))

const onHostAt = SchemaAST.resolveAt<OnHost>(key)

/** Narrows each part only once, so that schemas stay shared, including in documents. */
const narrowing = Function.memoize((lines: LineSet) => {
  const cache = new WeakMap<SchemaAST.AST, SchemaAST.AST>()
  const narrow = (ast: SchemaAST.AST): SchemaAST.AST => {
    const onHost = onHostAt(ast)
    const narrowed = cache.get(ast) ?? (onHost === undefined ? withParts(ast, narrow) : inPlaceOf(ast, onHost(lines)))
    cache.set(ast, narrowed)
    return narrowed
  }
  return narrow
})

/** Replaces a schema with another schema. The result is optional if the original is optional. */
const inPlaceOf = (ast: SchemaAST.AST, schema: Schema.Top): SchemaAST.AST =>
  SchemaAST.isOptional(ast) ? Schema.optionalKey(schema).ast : schema.ast

/** A copy of a node with its parts changed; the node itself if no part changes. */
const withParts = (ast: SchemaAST.AST, part: (ast: SchemaAST.AST) => SchemaAST.AST): SchemaAST.AST => {
  switch (ast._tag) {
    case "Arrays": {
      const elements = SchemaAST.mapOrSame(ast.elements, part)
      const rest = SchemaAST.mapOrSame(ast.rest, part)
      if (elements === ast.elements && rest === ast.rest) return ast
      return new SchemaAST.Arrays(ast.isMutable, elements, rest, ...restOf(ast))
    }
    case "Objects": {
      const members = SchemaAST.mapOrSame(ast.propertySignatures, (member) => {
        const type = part(member.type)
        return type === member.type ? member : new SchemaAST.PropertySignature(member.name, type)
      })
      if (members === ast.propertySignatures) return ast
      return new SchemaAST.Objects(members, ast.indexSignatures, ...restOf(ast))
    }
    case "Union": {
      const types = SchemaAST.mapOrSame(ast.types, part)
      return types === ast.types ? ast : new SchemaAST.Union(types, ast.options, ...restOf(ast))
    }
    default:
      return ast
  }
}

/** The properties that a copied node keeps. */
const restOf = (ast: SchemaAST.Arrays | SchemaAST.Objects | SchemaAST.Union) =>
  [ast.annotations, ast.checks, ast.encoding, ast.context, ast.encodingChecks] as const
