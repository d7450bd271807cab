/**
 * The agent of the demo: a support desk that knows the shop only through its tools.
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agent, Tool } from "effect-lexigram"
import * as OrderStore from "./OrderStore.js"

const orderId = Schema.String.annotations({ description: "Order number, four digits" })

export const lookupOrder = Tool.make("lookup_order", {
  description:
    "Looks up an order: where it is, whether it has shipped, when it arrives, its items, total, carrier and tracking number",
  parameters: { order_id: orderId },
  success: OrderStore.Order,
  failure: OrderStore.OrderNotFound,
  handler: ({ order_id }) => Effect.flatMap(OrderStore.OrderStore, (store) => store.find(order_id))
})

export const trackShipment = Tool.make("track_shipment", {
  description: "Tracks a parcel with its carrier: the last scans and the estimated delivery",
  parameters: {
    tracking_number: Schema.String.annotations({ description: "Tracking number, as it stands on the order" })
  },
  success: OrderStore.Shipment,
  failure: OrderStore.ShipmentNotFound,
  handler: ({ tracking_number }) => Effect.flatMap(OrderStore.OrderStore, (store) => store.track(tracking_number))
})

export const searchProducts = Tool.make("search_products", {
  description: "Searches the products that the shop sells, with their price and how many are in stock",
  parameters: {
    query: Schema.String.annotations({ description: "Name or kind of product" }),
    max_price: Schema.optional(Schema.Number.annotations({ description: "Highest price in EUR" }))
  },
  success: Schema.Array(OrderStore.Product),
  handler: ({ max_price, query }) =>
    Effect.flatMap(OrderStore.OrderStore, (store) => store.search(query, { maxPrice: max_price }))
})

export const startReturn = Tool.make("start_return", {
  description:
    "Starts the return of an order that the customer wants to send back: issues a label and names the refund",
  parameters: {
    order_id: orderId,
    reason: Schema.optional(Schema.String.annotations({ description: "Why the customer sends it back" }))
  },
  success: OrderStore.Return,
  failure: Schema.Union(OrderStore.OrderNotFound, OrderStore.ReturnRefused),
  requiresApproval: true,
  handler: ({ order_id, reason }) =>
    Effect.flatMap(OrderStore.OrderStore, (store) => store.startReturn(order_id, reason ?? "no reason given"))
})

export const readPolicy = Tool.make("read_policy", {
  description: "Reads a policy of the shop: the rules about returns, exchange, postage, warranty or lost parcels",
  parameters: { topic: OrderStore.Topic.annotations({ description: "What the policy is about" }) },
  success: Schema.String,
  handler: ({ topic }) => Effect.flatMap(OrderStore.OrderStore, (store) => store.policy(topic))
})

/** Makes the agent for a day and a shop name. Its requirement, the store, comes from its tools' handlers. */
export const make = (shop: Pick<OrderStore.Shop, "shop" | "today">) =>
  Agent.make("order-support", {
    system: [
      `You are the support desk of ${shop.shop}. Today is ${shop.today}.`,
      "Use the tools for every fact about orders, parcels, products and policies; never guess one.",
      "Answer in two or three sentences. If something is missing, ask for it."
    ].join("\n"),
    tools: [lookupOrder, trackShipment, searchProducts, startReturn, readPolicy],
    temperature: 0.2,
    settings: { maxTokens: 800 },
    limits: { timeout: "3 minutes", maxModelCalls: 12 }
  })
