#!/usr/bin/env node
// What `npm create quotewire` runs: `quotewire create`, with the arguments that follow.
process.argv.splice(2, 0, "create")
import("./quotewire.js")
