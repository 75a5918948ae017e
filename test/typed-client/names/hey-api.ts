export type * from "./client/types.gen.ts"
