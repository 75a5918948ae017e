export * as PgStorage from "./PgStorage.ts"
export { type PostgresOptions, postgres } from "./postgres.ts"
