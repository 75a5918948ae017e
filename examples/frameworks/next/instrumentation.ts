/** Called once when the server starts, and not by `next build`. */
export const register = async (): Promise<void> => {
  // Next also builds this file for the Edge runtime, and drops what the condition excludes there.
  if (process.env.NEXT_RUNTIME === "nodejs") await import("./lib/start")
}
