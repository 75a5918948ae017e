import { webHandlers } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { quotewire } from "../../../../lib/quotewire"

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = webHandlers(quotewire, { base_path: "/api/insurance", mcp })
