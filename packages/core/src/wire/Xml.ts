import { type Array as Arr, Data, Effect, Option, Result, Stream } from "effect"
import { Xml } from "effect/encoding"

/*
 * XML as a tree of elements. A document with a DOCTYPE is refused, so that it cannot define entities, internal or
 * external.
 */

/** An element, with its name and attributes as written, and its text and child elements in order. */
export type XmlElement = Xml.Element

/**
 * Text that is not XML, or that exceeds the limits. The message gives the reason and the position, without repeating
 * the text.
 */
export class InvalidXml extends Data.TaggedError("InvalidXml")<{ readonly message: string }> {}

/** The maximum nesting depth of elements. */
export const maxDepth = 64
/** The maximum number of elements in a document. Each element takes memory, however short it is. */
const maxElements = 20_000
/** How many characters of a text are parsed in one step. */
const chunkCharacters = 16 * 1_024

/**
 * Parses a document into a tree. Comments and processing instructions are dropped, and CDATA becomes ordinary text.
 *
 * Fails if the document is not well-formed, has a DOCTYPE, declares entities, or exceeds `maxElements` or `maxDepth`.
 */
export const parse = (text: string): Result.Result<XmlElement, InvalidXml> => {
  let elements = 0
  const allowed = (events: Arr.NonEmptyReadonlyArray<Xml.Event>) => {
    if (events.some(({ _tag }) => _tag === "Doctype")) {
      return Effect.fail(invalid("It has a DOCTYPE, which is not supported."))
    }
    elements += events.filter(({ _tag }) => _tag === "StartElement").length
    return elements > maxElements
      ? Effect.fail(invalid(`It has more than ${maxElements} elements.`))
      : Effect.succeed(events)
  }
  const tree = Stream.fromIterable(chunksOf(text)).pipe(
    Stream.pipeThroughChannel(Xml.decodeString({ maxDepth })),
    Stream.mapArrayEffect(allowed),
    Stream.pipeThroughChannel(Xml.elements(["*"])),
    Stream.runLast,
    Effect.mapError((error) =>
      error instanceof InvalidXml ? error : invalid(`It is not well-formed XML${placeOf(error)}.`)
    )
  )
  return Result.flatMap(
    Effect.runSync(Effect.result(tree)),
    Option.match({
      onNone: () => Result.fail(invalid("It has no root element.")),
      onSome: (root) => Result.succeed(root)
    })
  )
}

const invalid = (message: string) => new InvalidXml({ message })

const placeOf = ({ column, line }: Xml.XmlError): string =>
  line === undefined ? "" : `, at line ${line}, column ${column}`

function* chunksOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += chunkCharacters) yield text.slice(at, at + chunkCharacters)
}

/** Writes a document. Throws an `InvalidXml` if a name or a character is not allowed in XML. */
export const write = (root: XmlElement): string =>
  Stream.fromIterable(eventsOf(root)).pipe(
    Stream.pipeThroughChannel(Xml.encodeString()),
    Stream.mkString,
    // The encoder's messages contain names of elements and attributes, but no values.
    Effect.mapError(({ message }) => invalid(`It cannot be written: ${message}.`)),
    Effect.result,
    Effect.runSync,
    Result.getOrThrow
  )

function* eventsOf({ attributes, children, name }: XmlElement): Generator<Xml.Event> {
  yield { _tag: "StartElement", name, attributes }
  for (const child of children) {
    if (typeof child === "string") yield { _tag: "Text", text: child }
    else yield* eventsOf(child)
  }
  yield { _tag: "EndElement", name }
}

/** A name without its namespace prefix. */
export const localName = (name: string): string => name.slice(name.indexOf(":") + 1)

/** Whether an attribute declares a namespace. */
export const isDeclaration = (attribute: string): boolean => /^xmlns(?::|$)/.test(attribute)

/** The child elements of an element. */
export const elementsOf = ({ children }: XmlElement): ReadonlyArray<XmlElement> =>
  children.filter((child) => typeof child !== "string")

/** The text directly inside an element, without surrounding whitespace. */
export const textOf = ({ children }: XmlElement): string =>
  children
    .filter((child) => typeof child === "string")
    .join("")
    .trim()
