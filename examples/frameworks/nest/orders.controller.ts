import { Body, Controller, Post } from "@nestjs/common"

/** A part of your program. */
@Controller("orders")
export class OrdersController {
  @Post()
  create(@Body() order: object) {
    return order
  }
}
