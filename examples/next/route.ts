import { webHandlers } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { quotewire } from "./quotewire.ts"

export const { GET, POST, PATCH, DELETE, OPTIONS } = webHandlers(quotewire, { base_path: "/insurance", mcp })
