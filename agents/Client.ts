/** A real MCP client in one version: its packages, and the program that plays the journey with it. */
export interface Client {
  /** A short name, for `--only`, paths and files. */
  readonly id: string
  /** The packages and their versions, as the table shows them. */
  readonly title: string
  /** The folder in `agents/` with its packages and its program. */
  readonly folder: string
  /** The file of the program in that folder. */
  readonly program: string
  /** Additional environment variables for the program, besides the addresses. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether it can show the person forms. If so, the host lists no consent arguments. */
  readonly shows_forms?: boolean
}
