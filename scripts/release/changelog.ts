/** The topmost section of the changelog. */
export interface Section {
  readonly version: string
  /** A date, or `unreleased`. */
  readonly when: string
  /** The text below the heading. */
  readonly notes: string
}

/** Reads the topmost section of a changelog; null if its heading is not like `## 1.2.0 - 2026-12-01`. */
export const newestSection = (changelog: string): Section | null => {
  const [, heading = "", body = ""] = /^## (.*)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(changelog) ?? []
  const [, version, date] =
    /^\[?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)\]? - (unreleased|\d{4}-\d{2}-\d{2})$/.exec(heading) ?? []
  return version === undefined || date === undefined ? null : { version, when: date, notes: body.trim() }
}

/** Says why a section cannot be released. In a rehearsal, the date may still be missing. */
export const sectionFailures = (section: Section | null, isRehearsal: boolean): ReadonlyArray<string> => {
  if (section === null) return ["CHANGELOG.md: begin its topmost section with a heading such as ## 1.2.0 - 2026-12-01."]
  const { notes, version, when } = section
  return [
    ...(notes.replaceAll(/^#+ .*$/gm, "").trim() === ""
      ? [`CHANGELOG.md: say under ${version} what has changed.`]
      : []),
    ...(when === "unreleased" && !isRehearsal
      ? [`CHANGELOG.md: write the date of the release after ${version}, in place of "unreleased".`]
      : [])
  ]
}
