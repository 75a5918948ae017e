import { type BeforeApplicationShutdown, Module } from "@nestjs/common"
import { OrdersController } from "./orders.controller.js"
import { quotewire } from "./quotewire.js"

@Module({ controllers: [OrdersController] })
export class AppModule implements BeforeApplicationShutdown {
  // Closing the service lets running requests finish first.
  beforeApplicationShutdown() {
    return quotewire.close()
  }
}
