import { Predicate, SchemaAST } from "effect"
import * as Xml from "../../wire/Xml.ts"

/*
 * Converts values to XML, and XML to values. In a value, an element is a field with the element's name, an attribute is
 * a field whose name begins with `@`, and `#text` is the text beside attributes. The schema decides what is a list, so
 * a single element has the same shape as several elements.
 */

/** The content of an element: text, fields, or a list for a repeated element. Undefined and null are omitted. */
export type XmlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | ReadonlyArray<XmlValue>
  | { readonly [name: string]: XmlValue }

/** A document, as an object with one field: the root element. */
export type XmlDocument = { readonly [name: string]: XmlValue }

/**
 * Writes a document as XML text, with an XML declaration. Throws an `InvalidXml` if the document cannot be written; the
 * message contains no values.
 */
export const textOf = (document: XmlDocument): string => {
  const [root, ...others] = Predicate.isObject(document) ? fieldsOf(document) : []
  if (root === undefined || others.length > 0)
    throw new Xml.InvalidXml({ message: "It must have exactly one root element." })
  return `<?xml version="1.0" encoding="UTF-8"?>${Xml.write(root)}`
}

type Fields = { readonly [name: string]: XmlValue }

const fieldsOf = (fields: Fields, depth = 1): ReadonlyArray<Xml.XmlElement> =>
  Object.entries(fields).flatMap(([name, value]) => (isElement(name) ? elementsOf(name, value, depth) : []))

const isElement = (name: string): boolean => !name.startsWith("@") && name !== textField

const textField = "#text"

const elementsOf = (name: string, value: XmlValue, depth: number): ReadonlyArray<Xml.XmlElement> => {
  if (value === undefined || value === null) return []
  if (isList(value)) return value.flatMap((item) => elementsOf(name, item, depth))
  if (depth > Xml.maxDepth) throw new Xml.InvalidXml({ message: `It is nested more than ${Xml.maxDepth} levels deep.` })
  if (!isFields(value)) return [{ name, attributes: {}, children: [scalar(name, value)] }]
  const attributes = Object.entries(value).flatMap(([field, attribute]) =>
    field.startsWith("@") && attribute !== undefined && attribute !== null
      ? [[field.slice(1), scalar(field, attribute)]]
      : []
  )
  const text = value[textField] ?? ""
  const children = fieldsOf(value, depth + 1)
  return [
    {
      name,
      attributes: Object.fromEntries(attributes),
      children: text === "" ? children : [scalar(name, text), ...children]
    }
  ]
}

const isList = (value: XmlValue): value is ReadonlyArray<XmlValue> => Array.isArray(value)
const isFields = (value: XmlValue): value is Fields => Predicate.isObject(value) && !isList(value)

const scalar = (name: string, value: XmlValue): string => {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return `${value}`
  if (typeof value === "number" && Number.isFinite(value)) return `${value}`
  throw new Xml.InvalidXml({ message: `${name} must be text, a finite number, a boolean, fields or a list of these.` })
}

/**
 * The value of a document in the shape that a schema expects, with text, lists and fields where the schema has them.
 * Names match with or without their namespace prefix. Without a shape, an element becomes text or fields, and only
 * repeated elements become a list.
 */
export const valueOf = (root: Xml.XmlElement, shape: SchemaAST.AST | undefined): unknown =>
  valueIn({ name: "", attributes: {}, children: [root] }, shape === undefined ? [] : shapesOf(shape))

/** The shapes that a value may have. A union has one shape for each member. */
type Shapes = ReadonlyArray<SchemaAST.AST>

const shapesOf = (ast: SchemaAST.AST): Shapes => {
  const encoded = SchemaAST.toEncoded(ast)
  if (SchemaAST.isUnion(encoded)) return encoded.types.flatMap(shapesOf)
  return SchemaAST.isSuspend(encoded) ? shapesOf(encoded.thunk()) : [encoded]
}

const isAnything = (shape: SchemaAST.AST): boolean =>
  SchemaAST.isUnknown(shape) || SchemaAST.isAny(shape) || SchemaAST.isObjectKeyword(shape)

const valueIn = (element: Xml.XmlElement, shapes: Shapes): unknown => {
  if (isNil(element)) return null
  const objects = shapes.filter(SchemaAST.isObjects)
  if (shapes.length === 0 || (objects.length === 0 && shapes.some(isAnything))) return anyValueOf(element)
  if (objects.length === 0) return Xml.textOf(element)
  return objects.length === shapes.length || hasFields(element) ? fieldsIn(element, objects) : Xml.textOf(element)
}

/** Whether an element is marked as null: `xsi:nil="true"`. */
const isNil = ({ attributes }: Xml.XmlElement): boolean =>
  Object.entries(attributes).some(([name, value]) => /^\w+:nil$/.test(name) && /^(?:true|1)$/.test(value))

const attributesOf = ({ attributes }: Xml.XmlElement): ReadonlyArray<readonly [string, string]> =>
  Object.entries(attributes).filter(([name]) => !Xml.isDeclaration(name))

const hasFields = (element: Xml.XmlElement): boolean =>
  attributesOf(element).length > 0 || Xml.elementsOf(element).length > 0

/** The fields of an element that may have any of these shapes. */
const fieldsIn = (element: Xml.XmlElement, objects: ReadonlyArray<SchemaAST.Objects>): unknown => {
  const shapesByName = new Map(
    objects.flatMap(({ propertySignatures }) =>
      propertySignatures.map(({ name }) => [String(name), fieldOf(objects, name)])
    )
  )
  const open = objects.flatMap(({ indexSignatures }) => indexSignatures.flatMap(({ type }) => shapesOf(type)))
  const keyOf = (prefix: "" | "@", name: string): string | null => {
    const [whole, local] = [prefix + name, prefix + Xml.localName(name)]
    return shapesByName.has(whole) ? whole : shapesByName.has(local) || open.length > 0 ? local : null
  }
  const values = new Map<string, unknown>()
  for (const [name, { isOptional, shapes }] of shapesByName) {
    if (!isOptional && shapes.length > 0 && shapes.every(SchemaAST.isArrays)) values.set(name, [])
  }
  for (const [name, value] of attributesOf(element)) {
    const key = keyOf("@", name)
    if (key !== null) values.set(key, value)
  }
  if (shapesByName.has(textField)) values.set(textField, Xml.textOf(element))
  for (const [key, items] of grouped(element, (name) => keyOf("", name))) {
    const shapes = shapesByName.get(key)?.shapes ?? open
    const lists = shapes.filter(SchemaAST.isArrays)
    const itemShapes = lists.length > 0 ? lists.flatMap(itemsOf) : shapes
    const itemValues = items.map((item) => valueIn(item, itemShapes))
    values.set(key, lists.length > 0 || itemValues.length > 1 ? itemValues : itemValues[0])
  }
  return Object.fromEntries(values)
}

const fieldOf = (shapes: ReadonlyArray<SchemaAST.Objects>, field: PropertyKey) => {
  const types = shapes.flatMap(({ propertySignatures }) =>
    propertySignatures.filter(({ name }) => name === field).map(({ type }) => type)
  )
  return { isOptional: types.some(({ context }) => context?.isOptional === true), shapes: types.flatMap(shapesOf) }
}

const itemsOf = ({ elements, rest }: SchemaAST.Arrays): Shapes => [...elements, ...rest].flatMap(shapesOf)

/** The child elements, grouped by key. */
const grouped = (
  element: Xml.XmlElement,
  keyOf: (name: string) => string | null
): ReadonlyMap<string, ReadonlyArray<Xml.XmlElement>> => {
  const groups = new Map<string, Array<Xml.XmlElement>>()
  for (const item of Xml.elementsOf(element)) {
    const key = keyOf(item.name)
    if (key === null) continue
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** The value of an element without a schema: text or fields, with repeated elements as a list. */
export const anyValueOf = (element: Xml.XmlElement): unknown => {
  if (isNil(element)) return null
  const text = Xml.textOf(element)
  if (!hasFields(element)) return text
  const fields = Array.from(grouped(element, Xml.localName), ([name, items]): readonly [string, unknown] => {
    const [only, ...others] = items.map(anyValueOf)
    return [name, others.length === 0 ? only : [only, ...others]]
  })
  const attributes = attributesOf(element).map(([name, value]) => [`@${Xml.localName(name)}`, value] as const)
  return Object.fromEntries([...attributes, ...(text === "" ? [] : [[textField, text] as const]), ...fields])
}
