import { words } from "../../answers/phrases.ts"

/** An element's content. Text is never parsed as HTML. */
export type Child = Node | string

/** Creates an element. An empty class name is omitted. */
export const element = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: ReadonlyArray<Child>
): HTMLElementTagNameMap[K] => {
  const htmlElement = document.createElement(tag)
  if (className !== "") htmlElement.className = className
  htmlElement.append(...children)
  return htmlElement
}

/** An unordered list, with one entry for each item. */
export const list = (className: string, items: ReadonlyArray<ReadonlyArray<Child>>): HTMLUListElement =>
  element("ul", className, ...items.map((item) => element("li", "", ...item)))

/** A part that the person expands with a click or the keyboard. */
export const foldable = (summary: Child, isOpen: boolean, ...children: ReadonlyArray<Child>): HTMLDetailsElement => {
  const details = element("details", "", element("summary", "", summary), ...children)
  details.open = isOpen
  return details
}

/** The maximum length of a carrier's text, in characters. Longer text is truncated. */
const longest = 600

/** The maximum length of a name, in characters. Longer names are truncated. */
export const longestName = 80

/**
 * Text from outside the page, such as a carrier's. It is truncated, and isolated so that it cannot change the direction
 * of the text around it.
 */
export const isolated = (text: unknown, maxCharacters = longest): HTMLElement => {
  const shownText = typeof text === "string" ? text : ""
  return element("bdi", "", shownText.length > maxCharacters ? `${shownText.slice(0, maxCharacters)}…` : shownText)
}

/** Formats a code as the beginning of a sentence: `policy_fee` becomes "Policy fee". */
export const sentence = (code: string): string => {
  const text = words(code)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Formats a timestamp as a date and time for people; text that is not a timestamp stays as it is. */
export const moment = (timestamp: string, timeZone: string | undefined): HTMLTimeElement => {
  const at = new Date(timestamp)
  const format = { dateStyle: "medium", timeStyle: "short", timeZone } as const
  const text = Number.isNaN(at.getTime()) ? timestamp : new Intl.DateTimeFormat("en-US", format).format(at)
  const timeElement = element("time", "", text)
  timeElement.dateTime = timestamp
  return timeElement
}
