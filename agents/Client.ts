/** A client as it is run. */
export interface Client {
  /** A short name, for paths and files. */
  readonly id: string
  /** The packages and their versions, as readers know them. */
  readonly title: string
  /** The folder with its packages. */
  readonly folder: string
  /** Its program in that folder. */
  readonly program: string
  /** What the program must be told besides the addresses. */
  readonly env?: Readonly<Record<string, string>>
}
