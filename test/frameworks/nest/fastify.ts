import { NestFactory } from "@nestjs/core"
import { FastifyAdapter } from "@nestjs/platform-fastify"
import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { AppModule } from "./app.module.js"
import { quotewire } from "./quotewire.js"

const app = await NestFactory.create(AppModule, new FastifyAdapter())
app.use("/insurance", nodeHandler(quotewire, { mcp }))
app.enableShutdownHooks()
await app.listen(process.env.PORT ?? 3000)
