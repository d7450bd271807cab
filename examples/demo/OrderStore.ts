/**
 * The shop of the demo: orders, shipments, products and policies, read from a JSON file and kept in memory.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import data from "./orders.json" with { type: "json" }

const Item = Schema.Struct({
  sku: Schema.String,
  name: Schema.String,
  quantity: Schema.Number,
  price: Schema.Number
})

/** In the order in which customers ask: models read from the top. */
export const Order = Schema.Struct({
  order_id: Schema.String,
  status: Schema.String,
  carrier: Schema.optional(Schema.String),
  estimated_delivery: Schema.optional(Schema.String),
  tracking_number: Schema.optional(Schema.String),
  shipped_on: Schema.optional(Schema.String),
  delivered_on: Schema.optional(Schema.String),
  note: Schema.optional(Schema.String),
  customer: Schema.String,
  city: Schema.String,
  placed_on: Schema.String,
  items: Schema.Array(Item),
  total: Schema.Number,
  currency: Schema.String
})
export interface Order extends Schema.Schema.Type<typeof Order> {}

const Scan = Schema.Struct({ at: Schema.String, place: Schema.String, what: Schema.String })

const ShipmentRecord = Schema.Struct({ tracking_number: Schema.String, scans: Schema.NonEmptyArray(Scan) })

export const Shipment = Schema.Struct({
  tracking_number: Schema.String,
  carrier: Schema.String,
  status: Schema.String,
  last_seen: Scan,
  estimated_delivery: Schema.optional(Schema.String),
  scans: Schema.Array(Scan)
})
export interface Shipment extends Schema.Schema.Type<typeof Shipment> {}

export const Product = Schema.Struct({
  sku: Schema.String,
  name: Schema.String,
  description: Schema.String,
  price: Schema.Number,
  stock: Schema.Number
})
export interface Product extends Schema.Schema.Type<typeof Product> {}

export const Return = Schema.Struct({
  return_id: Schema.String,
  order_id: Schema.String,
  refund: Schema.Number,
  currency: Schema.String,
  send_by: Schema.String,
  instructions: Schema.String
})
export interface Return extends Schema.Schema.Type<typeof Return> {}

export const Topic = Schema.Literal("returns", "exchange", "postage", "warranty", "lost")
export type Topic = typeof Topic.Type

export const Shop = Schema.Struct({
  shop: Schema.String,
  today: Schema.String,
  return_days: Schema.Number,
  policies: Schema.Record({ key: Topic, value: Schema.String }),
  products: Schema.Array(Product),
  orders: Schema.Array(Order),
  shipments: Schema.Array(ShipmentRecord)
})
export interface Shop extends Schema.Schema.Type<typeof Shop> {}

export class OrderNotFound extends Schema.TaggedError<OrderNotFound>()("OrderNotFound", { order_id: Schema.String }) {
  override get message() {
    return `There is no order ${this.order_id}`
  }
}

export class ShipmentNotFound extends Schema.TaggedError<ShipmentNotFound>()("ShipmentNotFound", {
  tracking_number: Schema.String
}) {
  override get message() {
    return `No carrier knows the tracking number ${this.tracking_number}; it stands on the order once that has shipped`
  }
}

export class ReturnRefused extends Schema.TaggedError<ReturnRefused>()("ReturnRefused", {
  order_id: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `Order ${this.order_id} cannot be returned: ${this.reason}`
  }
}

export interface Service {
  readonly find: (orderId: string) => Effect.Effect<Order, OrderNotFound>
  readonly track: (trackingNumber: string) => Effect.Effect<Shipment, ShipmentNotFound>
  /** Best matches first. */
  readonly search: (
    query: string,
    options: { readonly maxPrice?: number | undefined }
  ) => Effect.Effect<ReadonlyArray<Product>>
  /** Sets the order to `return requested`. */
  readonly startReturn: (orderId: string, reason: string) => Effect.Effect<Return, OrderNotFound | ReturnRefused>
  readonly policy: (topic: Topic) => Effect.Effect<string>
}

export class OrderStore extends Context.Tag("demo/OrderStore")<OrderStore, Service>() {}

const day = 24 * 60 * 60 * 1000

const words = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []

/** True for a common prefix: `jackets` finds "jacket". */
const alike = (a: string, b: string): boolean => a.startsWith(b) || b.startsWith(a)

export const make = (shop: Shop): Effect.Effect<Service> =>
  Effect.gen(function* () {
    const orders = yield* Ref.make<ReadonlyMap<string, Order>>(
      new Map(shop.orders.map((order) => [order.order_id, order]))
    )

    const find = (orderId: string) =>
      Effect.flatMap(Ref.get(orders), (all) => {
        const order = all.get(orderId.trim().replace(/^#/, ""))
        return order === undefined ? new OrderNotFound({ order_id: orderId }) : Effect.succeed(order)
      })

    const lastDay = (delivered: string) =>
      new Date(Date.parse(delivered) + shop.return_days * day).toISOString().slice(0, 10)

    return {
      find,
      track: (trackingNumber) =>
        Effect.flatMap(Ref.get(orders), (all) => {
          const number = trackingNumber.trim().toUpperCase()
          const shipment = shop.shipments.find((one) => one.tracking_number === number)
          const order = Array.from(all.values()).find((one) => one.tracking_number === number)
          const last = shipment?.scans.at(-1)
          if (shipment === undefined || order?.carrier === undefined || last === undefined) {
            return new ShipmentNotFound({ tracking_number: trackingNumber })
          }
          return Effect.succeed({
            tracking_number: number,
            carrier: order.carrier,
            status: last.what,
            last_seen: last,
            ...(order.delivered_on === undefined && order.estimated_delivery !== undefined
              ? { estimated_delivery: order.estimated_delivery }
              : {}),
            scans: shipment.scans
          })
        }),
      search: (query, { maxPrice }) =>
        Effect.sync(() => {
          const asked = words(query)
          return shop.products
            .map((product) => {
              const named = words(product.name)
              const described = words(product.description)
              const score = asked.reduce(
                (sum, word) =>
                  sum +
                  (named.some((other) => alike(word, other)) ? 3 : 0) +
                  (described.some((other) => alike(word, other)) ? 1 : 0),
                0
              )
              return { product, score }
            })
            .filter(({ product, score }) => score > 0 && (maxPrice === undefined || product.price <= maxPrice))
            .sort((a, b) => b.score - a.score || a.product.price - b.product.price)
            .slice(0, 5)
            .map(({ product }) => product)
        }),
      startReturn: (orderId, reason) =>
        Effect.gen(function* () {
          const order = yield* find(orderId)
          const refuse = (reason: string) => new ReturnRefused({ order_id: order.order_id, reason })
          if (order.status !== "delivered" || order.delivered_on === undefined) {
            return yield* refuse(`it is ${order.status}; only delivered orders go back`)
          }
          const until = lastDay(order.delivered_on)
          if (until < shop.today) return yield* refuse(`the ${shop.return_days} days for it ended on ${until}`)
          const claimed = yield* Ref.modify(orders, (all) => {
            if (all.get(order.order_id)?.status !== "delivered") return [false, all]
            return [true, new Map(all).set(order.order_id, { ...order, status: "return requested", note: reason })]
          })
          if (!claimed) return yield* refuse("a return is under way already")
          return {
            return_id: `R-${order.order_id}`,
            order_id: order.order_id,
            refund: order.total,
            currency: order.currency,
            send_by: until,
            instructions: `The label is on its way to ${order.customer}; hand the parcel to ${order.carrier} by ${until}`
          }
        }),
      policy: (topic) => Effect.succeed(shop.policies[topic])
    }
  })

export const decode = Schema.decodeUnknown(Shop)

export const shop: Effect.Effect<Shop> = Effect.orDie(decode(data))

export const layer: Layer.Layer<OrderStore> = Layer.effect(OrderStore, Effect.flatMap(shop, make))
