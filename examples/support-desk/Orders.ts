/**
 * The port of the shop: its orders, refunds and returns. Every call names its customer, and the order of another
 * customer looks like one that does not exist.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Ids } from "effect-lexigram"

export const OrderId = Schema.String.pipe(Schema.pattern(/^\d{4}$/)).annotations({
  description: "The number of the order, four digits"
})

/** Amounts are whole cents. */
export const Cents = Schema.Int.pipe(Schema.positive()).annotations({ description: "An amount in euro cents" })

export class Order extends Schema.Class<Order>("support-desk/Order")({
  id: OrderId,
  item: Schema.String,
  cents: Cents,
  status: Schema.Literal("processing", "shipped", "delivered"),
  deliveredOn: Schema.NullOr(Schema.String),
  refundedCents: Schema.NullOr(Cents)
}) {}

export class Refund extends Schema.Class<Refund>("support-desk/Refund")({
  reference: Schema.String,
  order: OrderId,
  cents: Cents
}) {}

export class Return extends Schema.Class<Return>("support-desk/Return")({
  order: OrderId,
  label: Schema.String,
  reason: Schema.String
}) {}

export class OrderNotFound extends Schema.TaggedError<OrderNotFound>()("OrderNotFound", { order: OrderId }) {
  override get message() {
    return `The customer has no order ${this.order}`
  }
}

export class RefundRefused extends Schema.TaggedError<RefundRefused>()("RefundRefused", {
  order: OrderId,
  reason: Schema.String
}) {
  override get message() {
    return `Order ${this.order} is not refunded: ${this.reason}`
  }
}

export class ReturnRefused extends Schema.TaggedError<ReturnRefused>()("ReturnRefused", {
  order: OrderId,
  reason: Schema.String
}) {
  override get message() {
    return `Order ${this.order} is not taken back: ${this.reason}`
  }
}

/** The database of the shop does not answer. */
export class ShopUnavailable extends Schema.TaggedError<ShopUnavailable>()("ShopUnavailable", {
  cause: Schema.Defect
}) {
  override get message() {
    return "The data of the shop cannot be read at the moment"
  }
}

export interface Service {
  /** The newest first. */
  readonly list: (customer: Ids.UserId) => Effect.Effect<ReadonlyArray<Order>, ShopUnavailable>
  readonly find: (customer: Ids.UserId, order: string) => Effect.Effect<Order, OrderNotFound | ShopUnavailable>
  /** What somebody wrote to the order. Anybody may have written it: it is hostile text. */
  readonly note: (customer: Ids.UserId, order: string) => Effect.Effect<string, OrderNotFound | ShopUnavailable>
  /**
   * Pays back once. The same amount again is the same refund; another amount is refused, and so is more than was paid.
   */
  readonly refund: (
    customer: Ids.UserId,
    order: string,
    cents: number
  ) => Effect.Effect<Refund, OrderNotFound | RefundRefused | ShopUnavailable>
  /** Gives a label for an order that was delivered. A second one is the first one again. */
  readonly takeBack: (
    customer: Ids.UserId,
    order: string,
    reason: string
  ) => Effect.Effect<Return, OrderNotFound | ReturnRefused | ShopUnavailable>
  /** What was paid back to all customers, in cents. */
  readonly paidBack: Effect.Effect<number, ShopUnavailable>
}

export class Orders extends Context.Tag("support-desk/Orders")<Orders, Service>() {}
