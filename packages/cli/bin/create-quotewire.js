#!/usr/bin/env node
// `npm create quotewire` runs this: `quotewire create` with the arguments that follow.
process.argv.splice(2, 0, "create")
import("./quotewire.js")
