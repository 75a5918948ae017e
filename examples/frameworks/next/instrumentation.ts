/** Next calls this once when the server starts, but not during `next build`. */
export const register = async (): Promise<void> => {
  // Next also builds this file for the Edge runtime. This condition leaves the import out of that build.
  if (process.env.NEXT_RUNTIME === "nodejs") await import("./lib/start")
}
