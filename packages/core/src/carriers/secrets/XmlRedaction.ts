import * as Xml from "../../wire/Xml.ts"
import { redacted } from "./SecretForms.ts"
import { secretName } from "./SentSecrets.ts"

/** What is omitted from a document: the values at these paths, and whatever `clean` removes from its texts. */
export interface LeftOut {
  readonly paths: ReadonlyArray<Path>
  readonly clean: (text: string) => string
}

type Path = ReadonlyArray<string>

/**
 * The document without the omitted values and without elements and attributes that have secret names.
 *
 * A path may begin at any element, so it need not include an envelope. A step names an element or an attribute without
 * its prefix; `*` stands for any name. After the name of an element that can repeat, an index or `*` may follow, as in
 * a list.
 */
export const redact = (root: Xml.XmlElement, leftOut: LeftOut): Xml.XmlElement =>
  element(root, 0, leftOut.paths, leftOut)

/** Blanks between elements are dropped. */
const contentOf = ({ children }: Xml.XmlElement) => {
  const hasElements = children.some((child) => typeof child !== "string")
  return children.filter((child) => typeof child !== "string" || !hasElements || child.trim() !== "")
}

const element = (of: Xml.XmlElement, index: number, paths: ReadonlyArray<Path>, leftOut: LeftOut): Xml.XmlElement => {
  const name = Xml.localName(of.name)
  const rests = paths.flatMap(restAfter([of.name, name]))
  const isHere = rests.some((rest) => rest.length === 0 || (rest.length === 1 && rest[0] === `${index}`))
  if (isHere || secretName.test(name)) return emptied(of)
  const inside = [
    ...rests,
    ...rests.flatMap(restAfter([`${index}`])).filter((rest) => rest.length > 0),
    ...leftOut.paths
  ]
  const isLeftOut = (...names: ReadonlyArray<string>) =>
    inside.some((path) => path.length === 1 && isStep(path[0], names))
  const attributes = Object.entries(of.attributes).map(([attribute, value]) => {
    const local = Xml.localName(attribute)
    const isSecret = secretName.test(local) || isLeftOut(attribute, local, `@${local}`)
    return [attribute, isSecret && !Xml.isDeclaration(attribute) ? redacted : leftOut.clean(value)]
  })
  const places = new Map<string, number>()
  const children = contentOf(of).map((child) => {
    if (typeof child === "string")
      return rests.some((rest) => rest.length === 1 && isStep(rest[0], ["#text"])) ? redacted : leftOut.clean(child)
    const place = places.get(child.name) ?? 0
    places.set(child.name, place + 1)
    return element(child, place, inside, leftOut)
  })
  return { name: of.name, attributes: Object.fromEntries(attributes), children }
}

const isStep = (step: string | undefined, names: ReadonlyArray<string>): boolean =>
  step === "*" || (step !== undefined && names.includes(step))

/** The rest of a path after a step that has one of these names. */
const restAfter =
  (names: ReadonlyArray<string>) =>
  ([step, ...rest]: Path): ReadonlyArray<Path> =>
    isStep(step, names) ? [rest] : []

/** An element without its content, except for namespaces. An empty element stays empty. */
const emptied = ({ attributes, children, name }: Xml.XmlElement): Xml.XmlElement => ({
  name,
  attributes: Object.fromEntries(Object.entries(attributes).filter(([attribute]) => Xml.isDeclaration(attribute))),
  children: children.length === 0 && Object.keys(attributes).every(Xml.isDeclaration) ? [] : [redacted]
})
