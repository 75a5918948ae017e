import { connect } from "@quotewire/http/client"

// The script of a page. Tests call `connect` in it.
Object.assign(globalThis, { connect })
