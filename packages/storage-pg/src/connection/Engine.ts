/** What keeps a schema: PostgreSQL alone, or Citus, which has distributed it. */
export type Engine = "postgresql" | "citus"

/**
 * How a connection plans its statements. PostgreSQL plans those with arrays nearly every time unless told to plan once. Citus
 * sends a call to the server of the tables only where it plans with the values of the call.
 */
export const planCacheMode = (engine: Engine): string => (engine === "citus" ? "auto" : "force_generic_plan")
