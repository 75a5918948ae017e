import { registerHooks } from "node:module"

/*
 * Preloaded into a simulator that plays on a mutant: packages resolve to their sources, so that mutants need no build.
 */

const packages = new URL("../../packages/", import.meta.url)

registerHooks({
  resolve: (specifier, context, next) => {
    const [, name, entry] = /^@quotewire\/([a-z-]+)(?:\/([a-z-]+))?$/.exec(specifier) ?? []
    if (name === undefined) return next(specifier, context)
    const path = entry === undefined ? `${name}/src/index.ts` : `${name}/src/${entry}/index.ts`
    return next(new URL(path, packages).href, context)
  }
})
