/**
 * The amounts taken per key, in a database. A transaction that changes the slots of a key locks its row.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { GovernancePersistenceError } from "../../governance/store/GovernanceError.js"
import type * as RateLimitStore from "../../governance/store/RateLimitStore.js"
import type * as Database from "../engine/Database.js"
import type { Dialect } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as SqlFailure from "../engine/SqlFailure.js"

/** Windows up to this length are exact to the millisecond. */
const EXACT_MS = 60_000
/** Slots of a longer window. */
const SLOTS = 3600

/** One of this many takes removes empty keys, and removes more than the others add. */
const SWEEP_EVERY = 16
const SWEPT = 64

/** Slots that are read first, and then per page, for a caller that must wait. */
const FIRST_PAGE = 16
const NEXT_PAGE = 1024

interface Rate {
  readonly total: number
  readonly leaves_from: number
  readonly leaves_by: number
}

interface Slot {
  readonly leaves_at: number
  readonly amount: number
}

/**
 * Exported so that tests can check the query plans.
 *
 * @category constants
 */
export const statements = ({ forUpdate, forUpdateSkipLocked, oneOf, sql }: Dialect) => ({
  /** Also locks the key. If the clock was set back, the amount leaves with the slot that leaves last. */
  take: sql(
    `INSERT INTO lex_rates AS r (rate_key, total, leaves_from, leaves_by) VALUES (?, ?, ?, ?)
    ON CONFLICT (rate_key) DO UPDATE SET
      total = r.total + excluded.total,
      leaves_from = CASE WHEN r.leaves_from < excluded.leaves_from THEN r.leaves_from ELSE excluded.leaves_from END,
      leaves_by = CASE WHEN r.leaves_by > excluded.leaves_by THEN r.leaves_by ELSE excluded.leaves_by END
    RETURNING total, leaves_from, leaves_by`
  ),
  put: sql(
    `INSERT INTO lex_rate_slots AS s (rate_key, leaves_at, amount) VALUES (?, ?, ?)
    ON CONFLICT (rate_key, leaves_at) DO UPDATE SET amount = s.amount + excluded.amount`
  ),
  pass: sql("DELETE FROM lex_rate_slots WHERE rate_key = ? AND leaves_at <= ? RETURNING amount"),
  count: sql(
    `UPDATE lex_rates SET total = ?, leaves_from = COALESCE(
      (SELECT MIN(s.leaves_at) FROM lex_rate_slots s WHERE s.rate_key = lex_rates.rate_key), leaves_by
    ) WHERE rate_key = ?`
  ),
  next: sql(
    "SELECT leaves_at, amount FROM lex_rate_slots WHERE rate_key = ? AND leaves_at > ? ORDER BY leaves_at LIMIT ?"
  ),
  lockSlot: sql(
    `SELECT s.amount FROM lex_rates r JOIN lex_rate_slots s ON s.rate_key = r.rate_key
    WHERE r.rate_key = ? AND s.leaves_at = ?${forUpdate}`
  ),
  setSlot: sql("UPDATE lex_rate_slots SET amount = ? WHERE rate_key = ? AND leaves_at = ?"),
  add: sql("UPDATE lex_rates SET total = total + ? WHERE rate_key = ?"),
  peek: sql(
    `SELECT r.total - COALESCE(SUM(s.amount), 0) AS total FROM lex_rates r
    LEFT JOIN lex_rate_slots s ON s.rate_key = r.rate_key AND s.leaves_at <= ?
    WHERE r.rate_key = ? GROUP BY r.rate_key, r.total`
  ),
  sweep: sql(
    `DELETE FROM lex_rates WHERE rate_key IN (
      SELECT rate_key FROM lex_rates WHERE leaves_by <= ? ORDER BY leaves_by LIMIT ${SWEPT}${forUpdateSkipLocked}
    ) RETURNING rate_key`
  ),
  sweepSlots: sql(`DELETE FROM lex_rate_slots WHERE ${oneOf("rate_key")}`),
  forget: sql(`DELETE FROM lex_rates WHERE ${oneOf("rate_key")}`)
})

const refused = (error: SqlError): GovernancePersistenceError =>
  new GovernancePersistenceError(SqlFailure.fields(error))

/** An integer, so that `at` can be computed from it and the length of the window. */
const leavesOf = (now: number, windowMs: number): number => {
  const slotMs = windowMs <= EXACT_MS ? 1 : Math.ceil(windowMs / SLOTS)
  return Math.ceil(Math.ceil(now / slotMs) * slotMs + windowMs)
}

/**
 * Removes keys with their amounts. Governance counts a user under `rpm:user:<id>` and `tpm:user:<id>`.
 *
 * @category combinators
 */
export const forget = (database: Database.Database, keys: ReadonlyArray<string>): Effect.Effect<void, SqlError> => {
  const texts = statements(database.dialect)
  const list = database.dialect.list(keys.map(KeyText.encode))
  return database.transaction((tx) => Effect.zipRight(tx.run(texts.forget, [list]), tx.run(texts.sweepSlots, [list])))
}

/**
 * @category constructors
 */
export const make = (database: Database.Database): RateLimitStore.Service => {
  const { dialect } = database
  const texts = statements(dialect)
  let sinceSweep = 0

  /** Must be the last step of a transaction, because it locks rows out of order. */
  const sweep = Effect.fnUntraced(function* (tx: Database.Access, now: number) {
    sinceSweep = 0
    const gone = yield* tx.rows<{ readonly rate_key: string }>(texts.sweep, [now])
    if (gone.length > 0) yield* tx.run(texts.sweepSlots, [dialect.list(gone.map(({ rate_key }) => rate_key))])
  })

  /** Milliseconds until the amount has left. */
  const wait = Effect.fnUntraced(function* (tx: Database.Access, key: string, now: number, amount: number) {
    let left = amount
    let after = now
    for (let size = FIRST_PAGE; ; size = NEXT_PAGE) {
      const slots: ReadonlyArray<Slot> = yield* tx.rows<Slot>(texts.next, [key, after, size])
      for (const slot of slots) {
        left -= Number(slot.amount)
        after = Number(slot.leaves_at)
        if (left <= 0) return after - now
      }
      if (slots.length < size) return 0
    }
  })

  const refusal = (tx: Database.Access, key: string, now: number, current: number, amount: number, limit: number) =>
    amount > limit
      ? Effect.succeed<RateLimitStore.TakeResult>({ allowed: false, current })
      : Effect.map(
          wait(tx, key, now, current + amount - limit),
          (retryAfterMs): RateLimitStore.TakeResult => ({ allowed: false, current, retryAfterMs })
        )

  /** Fails with a refusal, which rolls back. */
  const take = Effect.fnUntraced(function* (
    tx: Database.Access,
    request: RateLimitStore.Take & { readonly limit: number },
    now: number
  ): Effect.fn.Return<RateLimitStore.TakeResult, SqlError | RateLimitStore.TakeResult> {
    const { amount, limit, windowMs } = request
    const key = KeyText.encode(request.key)
    const leaves = leavesOf(now, windowMs)
    const rate = (yield* tx.first<Rate>(texts.take, [key, amount, leaves, leaves])) as Rate
    const total = Number(rate.total) - amount
    const leavesAt = Number(rate.leaves_by)
    const isPassing = Number(rate.leaves_from) <= now
    let current = total
    if (isPassing) {
      for (const slot of yield* tx.rows<Slot>(texts.pass, [key, now])) current -= Number(slot.amount)
    }
    const isAllowed = current + amount <= limit
    if (isAllowed) yield* tx.run(texts.put, [key, leavesAt, amount])
    else if (!isPassing) return yield* Effect.flatMap(refusal(tx, key, now, current, amount, limit), Effect.fail)
    // Records what has left, so that the next refused caller does not read it again.
    if (isPassing) yield* tx.run(texts.count, [isAllowed ? current + amount : current, key])
    if (sinceSweep >= SWEEP_EVERY) yield* sweep(tx, now)
    return isAllowed
      ? { allowed: true, current: current + amount, at: leavesAt - windowMs }
      : yield* refusal(tx, key, now, current, amount, limit)
  })

  return {
    take: (request) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        sinceSweep++
        return database.transaction((tx) => take(tx, request, now))
      }).pipe(
        Effect.catchAll((stopped) => ("allowed" in stopped ? Effect.succeed(stopped) : Effect.fail(refused(stopped))))
      ),
    adjust: ({ at, from, key: name, to, windowMs }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const leaves = Math.round(at + windowMs)
        if (leaves <= now) return Effect.void
        const key = KeyText.encode(name)
        return database.transaction(
          Effect.fnUntraced(function* (tx) {
            const slot = yield* tx.first<Pick<Slot, "amount">>(texts.lockSlot, [key, leaves])
            if (slot === undefined) return
            const before = Number(slot.amount)
            const after = Math.max(0, before + to - from)
            yield* tx.run(texts.setSlot, [after, key, leaves])
            yield* tx.run(texts.add, [after - before, key])
          })
        )
      }).pipe(Effect.mapError(refused)),
    peek: ({ key }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.map(database.first<Pick<Rate, "total">>(texts.peek, [now, KeyText.encode(key)]), (row) =>
          Number(row?.total ?? 0)
        )
      ).pipe(Effect.mapError(refused))
  }
}
