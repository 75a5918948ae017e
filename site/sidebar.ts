import { read } from "../test/support/sources.ts"
import { pageOf, resolveIn } from "./pages.ts"

/** A link of the sidebar, or a group of them. */
interface Item {
  readonly text: string
  readonly link?: string
  readonly items?: Array<Item>
}

const link = /\[([^\]]+)\]\(([^)\s]+\.md)\)/

/** The first link of a line to a page of the site. */
const itemsOf = (path: string, line: string): ReadonlyArray<Item> => {
  const [, text, target = ""] = link.exec(line) ?? []
  const page = pageOf(resolveIn(path, target).file)
  return text === undefined || page === null
    ? []
    : [{ text: text.replaceAll("`", ""), link: `/${page.replace(/(index)?\.md$/, "")}` }]
}

/** What a README lists, in its order: a bold line or a heading begins a group, and each bullet or row has one link. */
const listed = (path: string, title: string): Array<Item> => {
  const groups: Array<{ text: string; items: Array<Item> }> = [{ text: title, items: [] }]
  for (const line of read(path).text.split("\n")) {
    const [, group] = /^(?:\*\*|## )([^*]+?)(?:\*\*)?$/.exec(line) ?? []
    if (group !== undefined) groups.push({ text: group, items: [] })
    if (/^(- |\|)/.test(line)) groups.at(-1)?.items.push(...itemsOf(path, line))
  }
  return groups.filter(({ items }) => items.length > 0)
}

/** The guides, by what you do. */
export const guides = (): Array<Item> => listed("docs/guides/README.md", "Guides")

/** The questions that people ask first. */
export const questions = (): Array<Item> => listed("docs/questions/README.md", "Questions")

/** The chapters of how the service is built, and why. */
export const design = (): Array<Item> => [
  {
    text: "Design",
    items: [
      { text: "Architecture", link: "/architecture" },
      { text: "What is promised", link: "/guarantees" },
      { text: "How it is proved", link: "/proof" },
      { text: "Threat model", link: "/threat-model" },
      { text: "Glossary", link: "/glossary" }
    ]
  },
  ...listed("docs/decisions/README.md", "Decisions")
]

/** The contract and its lists. */
export const reference = (): Array<Item> => [
  {
    text: "Reference",
    items: [
      { text: "The Quotewire API", link: "/reference/api" },
      { text: "Lines: personal auto", link: "/reference/lines/personal_auto" },
      { text: "Lines: renters", link: "/reference/lines/renters" },
      { text: "Lines: pet", link: "/reference/lines/pet" },
      { text: "Reasons and event types", link: "/reference/codes" },
      { text: "About the reference", link: "/reference/" }
    ]
  }
]
