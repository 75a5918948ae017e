/** A client of the table: its packages, and the program that runs it. */
export interface Client {
  /** A short name, for paths and files. */
  readonly id: string
  /** The packages and their versions, as readers know them. */
  readonly title: string
  /** The folder with its packages. */
  readonly folder: string
  /** Its program in that folder. */
  readonly program: string
  /** Further environment variables of the program, besides the addresses. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether it puts forms before the person: then it is given no arguments of consent. */
  readonly shows_forms?: boolean
}
