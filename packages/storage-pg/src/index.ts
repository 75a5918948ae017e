export * as PgStorage from "./PgStorage.ts"
export { type FolderOptions, type PostgresOptions, postgres, type ServerOptions } from "./postgres.ts"
