/**
 * The book of money and tokens in a database: SQLite or Postgres, whichever the `SqlClient` is of. Every process that
 * works on the same database has the same book: what one holds is gone for all of them, and no limit is passed.
 *
 * An operation is one transaction. It locks the rows of its hold first and its accounts then, in one order, so that no
 * two wait for each other. A hold whose process died stands until it was to be renewed; what was given back or booked
 * counts once, however often it is tried.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CostLedger from "../../governance/store/CostLedger.js"
import { GovernancePersistenceError } from "../../governance/store/GovernanceError.js"
import type * as Database from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as Book from "./CostLedgerBook.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long an account is kept after it was last written. `CostLedger.SPEND_TTL` unless set; no shorter than
   * `holdTtl`.
   */
  readonly spendTtl?: Duration.DurationInput | undefined
  /** How long a hold stands that is not renewed. `CostLedger.HOLD_TTL` unless set. */
  readonly holdTtl?: Duration.DurationInput | undefined
}

/** Every so many operations that write look for what is over: more goes than comes. */
const SWEEP_EVERY = 16

/** Somebody else held something more in the account each time only if the database is at fault. */
const MAX_ATTEMPTS = 16

const refused = (error: SqlError): GovernancePersistenceError =>
  new GovernancePersistenceError(SqlFailure.fields(error))

const changedTooOften = () =>
  new GovernancePersistenceError({
    message: "Others held something more in the account each time it was to be closed",
    hint: "Close an account when nothing is held in it any more; try again"
  })

const held: CostLedger.HoldResult = { _tag: "Held" }

const sum = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER)

const bounded = ({ nanoUsd, tokens }: CostLedger.Amount): CostLedger.Amount => ({
  nanoUsd: Math.min(nanoUsd, Number.MAX_SAFE_INTEGER),
  tokens: Math.min(tokens, Number.MAX_SAFE_INTEGER)
})

/** The first account that has no room, as they stand with the hold. */
const excess = (hold: CostLedger.Hold, amount: CostLedger.Amount, standing: Book.Standings) => {
  for (const { account, limit } of hold.accounts) {
    if (limit === undefined) continue
    const { reserved, spent } = Book.balanceOf(standing, KeyText.encode(account))
    for (const unit of ["nanoUsd", "tokens"] as const) {
      const most = limit[unit]
      const used = sum(spent[unit], reserved[unit] - amount[unit])
      if (most !== undefined && used + amount[unit] > most) {
        return { _tag: "Refused", account, unit, limit: most, used } satisfies CostLedger.HoldResult
      }
    }
  }
  return undefined
}

/**
 * Fails if the database cannot be reached or has not our tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<CostLedger.Service, MigrationFailure, SqlClient.SqlClient> =>
  Effect.map(MigrationRun.open({ migrate: false }), (database) => overDatabase(database, options))

const overDatabase = (database: Database.Database, options: Options | undefined): CostLedger.Service => {
  const holdTtl = Duration.toMillis(options?.holdTtl ?? CostLedger.HOLD_TTL)
  const spendTtl = Math.max(holdTtl, Duration.toMillis(options?.spendTtl ?? CostLedger.SPEND_TTL))
  const book = Book.make(database.dialect)
  let sinceSweep = 0

  const sweep = (tx: Database.Access, now: number) =>
    Effect.suspend((): Effect.Effect<void, SqlError> => {
      if (sinceSweep < SWEEP_EVERY) return Effect.void
      sinceSweep = 0
      return book.sweep(tx, now)
    })

  /** One step. What the body fails with that is no `SqlError` leaves nothing behind. */
  const step = <A, E = never>(body: (tx: Database.Access, now: number) => Effect.Effect<A, E | SqlError>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      sinceSweep++
      return database.transaction((tx) =>
        Effect.flatMap(body(tx, now), (value) => Effect.map(sweep(tx, now), () => value))
      )
    })

  const hold: CostLedger.Service["hold"] = (request) => {
    const id = KeyText.encode(request.id)
    const accounts = Array.from(new Set(request.accounts.map(({ account }) => KeyText.encode(account))))
    const amount = bounded(request.amount)
    return step<CostLedger.HoldResult, CostLedger.HoldResult>(
      Effect.fnUntraced(function* (tx, now) {
        const expiresAt = now + holdTtl
        const open = { id, accounts, amount, expiresAt }
        const changes = Book.changes()
        let added = yield* book.open(tx, open)
        if (added < Book.rowsOf(open)) {
          const over = yield* book.removeOver(tx, id, now)
          if (over.length === 0) return yield* Effect.fail(held)
          changes.giveBack(over)
          added += yield* book.open(tx, open)
          if (added < Book.rowsOf(open)) return yield* Effect.fail(held)
        }
        changes.reserve(open, now + spendTtl)
        const standings = yield* book.write(tx, changes, now)
        const refusal = excess(request, amount, standings)
        return refusal === undefined ? held : yield* Effect.fail(refusal)
      })
    ).pipe(
      Effect.catchAll((stopped) =>
        stopped._tag === "SqlError" ? Effect.fail(refused(stopped)) : Effect.succeed(stopped)
      )
    )
  }

  const renew: CostLedger.Service["renew"] = (ids) =>
    ids.length === 0
      ? Effect.succeed(0)
      : Effect.mapError(
          step((tx, now) => book.renew(tx, ids.map(KeyText.encode), { now, holdsUntil: now + holdTtl })),
          refused
        )

  const bookings = (accounts: ReadonlyArray<string>, booked: CostLedger.Amount, standings: Book.Standings) =>
    accounts.map(
      (account): CostLedger.Booking => ({
        account: KeyText.decode(account),
        booked,
        balance: Book.balanceOf(standings, account)
      })
    )

  const settle: CostLedger.Service["settle"] = (id, given) =>
    step(
      Effect.fnUntraced(function* (tx, now) {
        const taken = yield* book.remove(tx, KeyText.encode(id), now)
        if (taken.length === 0) return undefined
        const accounts = Book.accountsOf(taken)
        const changes = Book.changes()
        changes.giveBack(taken)
        changes.spend(accounts, bounded(given), now + spendTtl)
        return bookings(accounts, given, yield* book.write(tx, changes, now))
      })
    ).pipe(Effect.mapError(refused))

  const release: CostLedger.Service["release"] = (id) =>
    step(
      Effect.fnUntraced(function* (tx, now) {
        const taken = yield* book.remove(tx, KeyText.encode(id), now)
        if (taken.length === 0) return false
        const changes = Book.changes()
        changes.giveBack(taken)
        yield* book.write(tx, changes, now)
        return true
      })
    ).pipe(Effect.mapError(refused))

  const bookAll = (accounts: ReadonlyArray<string>, given: CostLedger.Amount) =>
    step(
      Effect.fnUntraced(function* (tx, now) {
        const changes = Book.changes()
        changes.spend(accounts, bounded(given), now + spendTtl)
        return bookings(accounts, given, yield* book.write(tx, changes, now))
      })
    )

  /** One account with no hold that is over is one statement, and needs no transaction. */
  const bookOne = (account: string, given: CostLedger.Amount) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (sinceSweep >= SWEEP_EVERY - 1) return bookAll([account], given)
      sinceSweep++
      const changes = Book.changes()
      changes.spend([account], bounded(given), now + spendTtl)
      return Effect.flatMap(book.writeAlone(database, changes, now), (standings) =>
        standings === undefined ? bookAll([account], given) : Effect.succeed(bookings([account], given, standings))
      )
    })

  const closeOnce = (account: string) =>
    step<number, "again">(
      Effect.fnUntraced(function* (tx, now) {
        const shared = yield* book.lockHoldsIn(tx, account)
        if (shared.length > 0) {
          const changes = Book.changes()
          changes.giveBack(shared)
          yield* book.removeAll(tx, shared)
          yield* book.write(tx, changes, now)
        }
        if (yield* book.forget(tx, account)) return Book.holdsIn(shared, account, now)
        return yield* Effect.fail("again" as const)
      })
    )

  const close = (account: string, attempt = 1): Effect.Effect<number, GovernancePersistenceError> =>
    Effect.catchAll(closeOnce(account), (stopped) => {
      if (stopped !== "again") return Effect.fail(refused(stopped))
      return attempt < MAX_ATTEMPTS ? close(account, attempt + 1) : Effect.fail(changedTooOften())
    })

  return {
    backend: database.dialect.name,
    isPersistent: true,
    holdTtl: Duration.millis(holdTtl),
    hold,
    renew,
    settle,
    release,
    book: (accounts, amount) => {
      const keys = accounts.map(KeyText.encode)
      const [only] = keys
      return Effect.mapError(
        only !== undefined && keys.length === 1 ? bookOne(only, amount) : bookAll(keys, amount),
        refused
      )
    },
    read: (account) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.mapError(book.read(database, KeyText.encode(account), now), refused)
      ),
    close: (account) => close(KeyText.encode(account))
  }
}

/**
 * Over a database that has our tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<CostLedger.CostLedger, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(CostLedger.CostLedger, make(options))

/**
 * As `layer`, and makes the tables first.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<CostLedger.CostLedger, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(
    CostLedger.CostLedger,
    Effect.map(MigrationRun.open({ migrate: true }), (database) => overDatabase(database, options))
  )
