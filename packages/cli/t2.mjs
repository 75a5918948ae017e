import "./t1.mjs"; import "effect/http/FetchHttpClient"; import "effect/http/HttpClient"; import "effect/Stream"; import "effect/FiberMap"; import "effect/Schema"
