import type { NextConfig } from "next"

// Next bundles the service with your code, so that both share one copy of `effect`.
const config: NextConfig = {}
export default config
