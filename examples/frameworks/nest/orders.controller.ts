import { Body, Controller, Post } from "@nestjs/common"

/** Stands for the rest of your program. */
@Controller("orders")
export class OrdersController {
  @Post()
  create(@Body() order: object) {
    return order
  }
}
