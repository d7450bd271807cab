/** The shop in tables of SQLite, in a file of its own. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { SqliteClient } from "effect-lexigram/persistence"
import * as Orders from "./Orders.js"
import { samples } from "./Samples.js"

const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT NOT NULL, item TEXT NOT NULL,
    cents INTEGER NOT NULL, status TEXT NOT NULL, deliveredOn TEXT, note TEXT NOT NULL)`
  // One row for an order: a refund and a return are made once.
  yield* sql`CREATE TABLE IF NOT EXISTS refunds (orderId TEXT PRIMARY KEY, cents INTEGER NOT NULL)`
  yield* sql`CREATE TABLE IF NOT EXISTS returns (orderId TEXT PRIMARY KEY, reason TEXT NOT NULL)`
  yield* Effect.forEach(samples, (sample) => sql`INSERT OR IGNORE INTO orders ${sql.insert({ ...sample })}`)
})

const Amount = Schema.Struct({ cents: Schema.Int })
const Reason = Schema.Struct({ reason: Schema.String })
const Note = Schema.Struct({ note: Schema.String })

/** A database that fails, and rows that are no rows of these tables, are one failure to callers. */
const unavailable = Effect.mapError((cause: unknown) => new Orders.ShopUnavailable({ cause }))

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* unavailable(tables)

  const rows = <A, I>(schema: Schema.Schema<A, I>, statement: Effect.Effect<ReadonlyArray<unknown>, unknown>) =>
    unavailable(Effect.flatMap(statement, Schema.decodeUnknown(Schema.Array(schema))))

  const first = <A, I>(schema: Schema.Schema<A, I>, statement: Effect.Effect<ReadonlyArray<unknown>, unknown>) =>
    Effect.map(rows(schema, statement), (found) => Option.fromNullable(found[0]))

  const columns = sql.literal(`SELECT id, item, orders.cents, status, deliveredOn, refunds.cents AS refundedCents
    FROM orders LEFT JOIN refunds ON refunds.orderId = orders.id`)

  const orElseNotFound =
    (order: string) =>
    <A>(found: Option.Option<A>): Effect.Effect<A, Orders.OrderNotFound> =>
      Effect.mapError(found, () => new Orders.OrderNotFound({ order }))

  const find: Orders.Service["find"] = (customer, order) =>
    Effect.flatMap(
      first(Orders.Order, sql`${columns} WHERE id = ${order} AND customer = ${customer}`),
      orElseNotFound(order)
    )

  const note: Orders.Service["note"] = (customer, order) =>
    first(Note, sql`SELECT note FROM orders WHERE id = ${order} AND customer = ${customer}`).pipe(
      Effect.flatMap(orElseNotFound(order)),
      Effect.map(({ note }) => note)
    )

  const refund: Orders.Service["refund"] = Effect.fnUntraced(function* (customer, order, cents) {
    const refused = (reason: string) => new Orders.RefundRefused({ order, reason })
    const { cents: paid } = yield* find(customer, order)
    if (cents > paid) return yield* refused(`it cost ${paid} cents, and no more can be paid back`)
    yield* unavailable(sql`INSERT OR IGNORE INTO refunds ${sql.insert({ orderId: order, cents })}`)
    const [kept] = yield* rows(Amount, sql`SELECT cents FROM refunds WHERE orderId = ${order}`)
    if (kept?.cents !== cents) return yield* refused(`${kept?.cents} cents are paid back already`)
    return new Orders.Refund({ reference: `RF-${order}`, order, cents })
  })

  const takeBack: Orders.Service["takeBack"] = Effect.fnUntraced(function* (customer, order, reason) {
    const { status } = yield* find(customer, order)
    if (status !== "delivered") return yield* new Orders.ReturnRefused({ order, reason: `it is ${status}` })
    yield* unavailable(sql`INSERT OR IGNORE INTO returns ${sql.insert({ orderId: order, reason })}`)
    const [kept] = yield* rows(Reason, sql`SELECT reason FROM returns WHERE orderId = ${order}`)
    return new Orders.Return({ order, label: `RT-${order}`, reason: kept?.reason ?? reason })
  })

  return Orders.Orders.of({
    find,
    note,
    refund,
    takeBack,
    list: (customer) => rows(Orders.Order, sql`${columns} WHERE customer = ${customer} ORDER BY id DESC LIMIT 20`),
    paidBack: Effect.map(rows(Amount, sql`SELECT cents FROM refunds`), (all) =>
      all.reduce((sum, { cents }) => sum + cents, 0)
    )
  })
})

/** Opens the file, and makes the tables and the first orders if they are missing. */
export const layer = (file: string) =>
  Layer.effect(Orders.Orders, make).pipe(Layer.provide(SqliteClient.layer({ file })))
