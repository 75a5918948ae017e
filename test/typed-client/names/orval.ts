export type * from "./client.ts"
