#!/usr/bin/env node
// Use only syntax that old versions of Node understand, so that they can print this message.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`quotewire: Needs Node 22.19 or newer; this is ${process.versions.node}.\n`)
  process.exit(1)
}
if (process.argv.length === 3 && process.argv[2] === "--version") {
  // Prints the version without loading the command, which would take six times as long.
  const { version } = await import("../dist/bundle/version.js")
  process.stdout.write(`quotewire v${version}\n`)
} else {
  const { createRequire, enableCompileCache } = await import("node:module")
  // Starting a command takes a sixth less work if Node caches compiled code. The cached code is executed, so the cache
  // is in the user's own folder, not in the shared temporary folder.
  const { HOME, NODE_COMPILE_CACHE, XDG_CACHE_HOME } = process.env
  const cache = XDG_CACHE_HOME || (HOME && `${HOME}/.cache`)
  if (NODE_COMPILE_CACHE === undefined && cache) enableCompileCache(`${cache}/quotewire`)
  try {
    await import("../dist/bundle/main.js")
  } catch (error) {
    // Package managers can be told to ignore peer dependencies. Then a version of Effect may be installed that lacks
    // modules.
    const needed = createRequire(import.meta.url)("../package.json").peerDependencies.effect
    const found = createRequire(import.meta.resolve("@quotewire/core"))("effect/package.json").version
    const minorOf = (version) => version.replace("~", "").split(".", 2).join(".")
    if (minorOf(found) === minorOf(needed)) throw error
    process.stderr.write(`quotewire: Needs effect ${needed}, but found ${found}: run npm install effect@${needed}.\n`)
    process.exit(1)
  }
}
