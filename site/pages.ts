import { dirname, join, normalize } from "node:path"

const atTheRoot: { readonly [path: string]: string } = {
  "README.md": "start.md",
  "ARCHITECTURE.md": "architecture.md",
  "CHANGELOG.md": "changelog.md",
  "CONTRIBUTING.md": "contributing.md",
  "SECURITY.md": "security.md",
  "site/index.md": "index.md"
}

/** Where a file of the repository is on the site, such as `guides/embed.md`; null if the site does not show it. */
export const pageOf = (path: string): string | null => {
  if (path in atTheRoot) return atTheRoot[path] ?? null
  const [, name] = /^docs\/(.+\.md)$/.exec(path) ?? []
  return name === undefined ? null : name.replace(/(^|\/)README\.md$/, "$1index.md")
}

/** The file of the repository that a relative link of another file names, and the fragment. A folder means its README. */
export const resolveIn = (path: string, target: string): { readonly file: string; readonly fragment: string } => {
  const [link = "", ...rest] = target.split("#")
  const file = link === "" ? path : normalize(join(dirname(path), link))
  return { file: file.replace(/\/$/, "/README.md"), fragment: rest.length === 0 ? "" : `#${rest.join("#")}` }
}
