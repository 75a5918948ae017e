#!/usr/bin/env node
// Nothing newer than this may stand here: an old Node must be able to read the sentence.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`quotewire: Needs Node 22.19 or newer; this is ${process.versions.node}.\n`)
  process.exit(1)
}
await import("../dist/main.js")
