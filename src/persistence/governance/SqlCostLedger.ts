/**
 * The ledger of costs and tokens in SQLite or Postgres, whichever the `SqlClient` is. All processes on one database
 * share the ledger: a hold counts for all of them, and limits are never exceeded.
 *
 * An operation is one transaction. It locks the rows of its hold first and then its accounts, always in the same order,
 * so that no two deadlock. The hold of a process that died lasts until its renewal is overdue. Releases and settlements
 * count once, however often they are repeated.
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
   * How long an account is kept after its last write. Default: `CostLedger.SPEND_TTL`; at least `holdTtl`.
   */
  readonly spendTtl?: Duration.DurationInput | undefined
  /** How long a hold lasts without a renewal. Default: `CostLedger.HOLD_TTL`. */
  readonly holdTtl?: Duration.DurationInput | undefined
}

/** One of this many writes removes expired rows, and removes more than the others add. */
const SWEEP_EVERY = 16

/** More attempts to close an account than concurrent holds can defeat. */
const MAX_ATTEMPTS = 16

const refused = (error: SqlError): GovernancePersistenceError =>
  new GovernancePersistenceError(SqlFailure.fields(error))

const changedTooOften = () =>
  new GovernancePersistenceError({
    message: "New holds were made in the account on every attempt to close it",
    hint: "Stop making holds in the account, then try again"
  })

const held: CostLedger.HoldResult = { _tag: "Held" }

const sum = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER)

const bounded = ({ nanoUsd, tokens }: CostLedger.Amount): CostLedger.Amount => ({
  nanoUsd: Math.min(nanoUsd, Number.MAX_SAFE_INTEGER),
  tokens: Math.min(tokens, Number.MAX_SAFE_INTEGER)
})

/** The first account whose limit the hold exceeds. */
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
 * Fails if the database cannot be reached or lacks the tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<CostLedger.Service, MigrationFailure, SqlClient.SqlClient> =>
  Effect.map(MigrationRun.open({ migrate: false }), (database) => makeService(database, options))

/** What the operations of one ledger share. */
const makeSteps = (database: Database.Database, options: Options | undefined) => {
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

  /** Runs an operation in a transaction, which any failure rolls back. */
  const step = <A, E = never>(body: (tx: Database.Access, now: number) => Effect.Effect<A, E | SqlError>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      sinceSweep++
      return database.transaction((tx) =>
        Effect.flatMap(body(tx, now), (value) => Effect.map(sweep(tx, now), () => value))
      )
    })

  /** Counts a write, unless a sweep is due with it. */
  const countAlone = (): boolean => {
    if (sinceSweep >= SWEEP_EVERY - 1) return false
    sinceSweep++
    return true
  }

  return { database, holdTtl, spendTtl, book, step, countAlone }
}

type Steps = ReturnType<typeof makeSteps>

const makeHold =
  ({ book, holdTtl, spendTtl, step }: Steps): CostLedger.Service["hold"] =>
  (request) => {
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
          const expired = yield* book.removeOver(tx, id, now)
          if (expired.length === 0) return yield* Effect.fail(held)
          changes.giveBack(expired)
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

const bookings = (accounts: ReadonlyArray<string>, booked: CostLedger.Amount, standings: Book.Standings) =>
  accounts.map(
    (account): CostLedger.Booking => ({
      account: KeyText.decode(account),
      booked,
      balance: Book.balanceOf(standings, account)
    })
  )

const makeBook = ({ book, countAlone, database, spendTtl, step }: Steps): CostLedger.Service["book"] => {
  const bookAll = (accounts: ReadonlyArray<string>, given: CostLedger.Amount) =>
    step(
      Effect.fnUntraced(function* (tx, now) {
        const changes = Book.changes()
        changes.spend(accounts, bounded(given), now + spendTtl)
        return bookings(accounts, given, yield* book.write(tx, changes, now))
      })
    )

  /** One account without expired holds takes a single statement and no transaction. */
  const bookOne = (account: string, given: CostLedger.Amount) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (!countAlone()) return bookAll([account], given)
      const changes = Book.changes()
      changes.spend([account], bounded(given), now + spendTtl)
      return Effect.flatMap(book.writeAlone(database, changes, now), (standings) =>
        standings === undefined ? bookAll([account], given) : Effect.succeed(bookings([account], given, standings))
      )
    })

  return (accounts, amount) => {
    const keys = accounts.map(KeyText.encode)
    const [only] = keys
    return Effect.mapError(
      only !== undefined && keys.length === 1 ? bookOne(only, amount) : bookAll(keys, amount),
      refused
    )
  }
}

const makeClose = ({ book, step }: Steps): CostLedger.Service["close"] => {
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

  return (account) => close(KeyText.encode(account))
}

const makeService = (database: Database.Database, options: Options | undefined): CostLedger.Service => {
  const steps = makeSteps(database, options)
  const { book, holdTtl, spendTtl, step } = steps

  const renew: CostLedger.Service["renew"] = (ids) =>
    ids.length === 0
      ? Effect.succeed(0)
      : Effect.mapError(
          step((tx, now) => book.renew(tx, ids.map(KeyText.encode), { now, holdsUntil: now + holdTtl })),
          refused
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

  return {
    backend: database.dialect.name,
    isPersistent: true,
    holdTtl: Duration.millis(holdTtl),
    hold: makeHold(steps),
    renew,
    settle,
    release,
    book: makeBook(steps),
    read: (account) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.mapError(book.read(database, KeyText.encode(account), now), refused)
      ),
    close: makeClose(steps)
  }
}

/**
 * Requires a database with the tables of this version.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<CostLedger.CostLedger, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(CostLedger.CostLedger, make(options))

/**
 * Like `layer`, but migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultGovernance } from "effect-lexigram/governance"
 * import { PostgresClient, SqlCostLedger } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * // All processes on this database spend one budget of 100 dollars a month.
 * const governance = DefaultGovernance.layerWith({
 *   config: { monthlyBudget: 100 },
 *   ledger: SqlCostLedger.layerMigrated().pipe(
 *     Layer.provide(PostgresClient.layer({ url: Redacted.make("postgres://localhost/agents") }))
 *   )
 * })
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<CostLedger.CostLedger, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(
    CostLedger.CostLedger,
    Effect.map(MigrationRun.open({ migrate: true }), (database) => makeService(database, options))
  )
