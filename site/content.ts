import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { read, root, sources } from "../test/support/sources.ts"
import { apiPage } from "./apiPage.ts"
import { pageOf, resolveIn } from "./pages.ts"

/*
 * Collects the pages of the site in `content/`. The texts stay where people read them in the repository; this script
 * only copies them to their addresses on the site and adjusts their links.
 */

const content = fileURLToPath(new URL("content/", import.meta.url))

/** The address of the source repository: known in CI, and unknown elsewhere. */
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_SHA: commit = "HEAD" } = process.env
const sourceUrl = server === undefined || repository === undefined ? null : `${server}/${repository}/blob/${commit}`

/** Matches code, which may contain text that looks like a link, or a link with its text and its target. */
const codeOrLink = /^(```|~~~)[\s\S]*?^\1|!?\[((?:[^\][`]|`[^`]*`)*)\]\(([^)\s]+)\)|`[^`\n]*`/gm

/** Whether a file is served as it is, because pages link to it. */
const isServed = (file: string): boolean => file.startsWith("docs/") && file.endsWith(".json")

/** The text of a page with its links adjusted to the site. A link to a file that is not shown leads to the sources. */
const withLinks = (path: string, text: string): string =>
  text.replaceAll(codeOrLink, (found, _fence, label?: string, target?: string) => {
    if (label === undefined || target === undefined || /^([a-z]+:|#)/.test(target)) return found
    const { file, fragment } = resolveIn(path, target)
    const shown = pageOf(file) ?? (file.endsWith(".png") ? file.replace(/^docs\//, "") : null)
    if (shown !== null) {
      const to = relative(dirname(pageOf(path) ?? ""), shown)
      return `${found.startsWith("!") ? "!" : ""}[${label}](${to.startsWith(".") ? to : `./${to}`}${fragment})`
    }
    if (isServed(file)) return found
    return sourceUrl === null ? label : `[${label}](${sourceUrl}/${file}${fragment})`
  })

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(content, path)), { recursive: true })
  writeFileSync(join(content, path), text)
}

const copy = (path: string, to: string): void => {
  mkdirSync(dirname(join(content, to)), { recursive: true })
  cpSync(join(root, path), join(content, to))
}

rmSync(content, { recursive: true, force: true })
for (const { path, text } of [
  ...sources("docs", ".md"),
  ...["README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY"].map((name) => read(`${name}.md`)),
  read("site/index.md")
]) {
  const page = pageOf(path)
  if (page !== null) write(page, withLinks(path, text))
}

for (const { path } of sources("docs", ".png")) copy(path, path.slice("docs/".length))

// Files that pages link to are served as they are.
for (const { path } of sources("docs", ".json")) copy(path, `public/${path.slice("docs/".length)}`)

// The HTTP API as a host shows it at `/docs`, with the same script.
copy("packages/http/vendor/scalar/standalone.js", "public/api/standalone.js")
write("public/api/index.html", apiPage)
