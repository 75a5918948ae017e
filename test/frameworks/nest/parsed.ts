import { type MiddlewareConsumer, Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { AppModule } from "./app.module.js"
import { quotewire } from "./quotewire.js"

/** Mounts the service as a middleware of a module, which runs after Nest's parser. Callbacks need the exact bytes. */
@Module({ imports: [AppModule] })
class ParsedModule {
  configure(consumer: MiddlewareConsumer) {
    consumer.apply(nodeHandler(quotewire, { base_path: "/insurance", mcp })).forRoutes("insurance/*path")
  }
}

const app = await NestFactory.create(ParsedModule, { rawBody: true })
app.enableShutdownHooks()
await app.listen(process.env.PORT ?? 3000)
