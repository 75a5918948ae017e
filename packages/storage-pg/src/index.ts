export * as PgStorage from "./PgStorage.ts"
