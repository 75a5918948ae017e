export * as PgCells from "./PgCells.ts"
