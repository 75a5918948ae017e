import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

const path = (from: string) => fileURLToPath(new URL(from, import.meta.url))

/** Bundles a module for a page, as a shop that uses `connect` does. Unresolved modules stay imports. */
export const bundle = async (input: string) => {
  const build = await rolldown({
    input,
    platform: "browser",
    resolve: {
      alias: {
        "@quotewire/core/client": path("../../../core/src/client/index.ts"),
        "@quotewire/http/client": path("../../src/client/index.ts")
      }
    },
    onLog: () => {}
  })
  const { output } = await build.generate({ format: "esm", minify: true })
  await build.close()
  return output
}

/** The code of a bundle that is one file. */
export const bundleOfPage = async (input: string): Promise<string> => (await bundle(input))[0].code
