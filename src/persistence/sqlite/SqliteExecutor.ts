/**
 * Runs statements on connections to SQLite: in a transaction (`Lease`) or by themselves (`Direct`).
 *
 * @private
 * @since 0.1.0
 */
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Chunk from "effect/Chunk"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Permits from "../../internal/fiber/Permits.js"
import { type Level, Synchronous } from "../engine/Synchronous.js"
import * as SqliteBusy from "./SqliteBusy.js"
import type * as SqliteDriver from "./SqliteDriver.js"
import * as SqliteFailure from "./SqliteFailure.js"
import type { Session } from "./SqliteSession.js"
import * as SqliteText from "./SqliteText.js"

type Transform = (<A extends object>(row: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
type Operation<A> = (session: Session, level: Level | undefined) => A

const CHUNK = 100

/**
 * What connections need from the pool they belong to.
 *
 * @category models
 */
export interface Host {
  readonly isMemory: boolean
  readonly busyTimeout: number
  readonly turns: Permits.Line
  readonly courtesy: SqliteBusy.Courtesy
  readonly main: Session
  readonly leaseOf: (context: Context.Context<never>) => readonly [connection: Connection, depth: number] | undefined
  /** Runs at once, or after a turn of the event loop. */
  readonly inTurn: <A, E>(isAhead: boolean, next: () => Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Records that a write of this process succeeded. */
  readonly free: () => void
  /**
   * Retries until the busy timeout counted from `asked`, or from when this process met the lock first: a process that
   * stalls delays each waiter only once. Only for the holder of the turn.
   */
  readonly patiently: <A>(attempt: () => A, asked: number) => Effect.Effect<A, SqlError>
  readonly returned: (session: Session) => void
  readonly reader: () => Session
  readonly readerDone: (session: Session) => void
}

const levelOf = (fiber: Fiber.RuntimeFiber<any, any>): Level | undefined =>
  fiber.currentContext.unsafeMap.get(Synchronous.key) as Level | undefined

const failed = (error: unknown): Effect.Effect<never, SqlError> =>
  Effect.fail(SqliteFailure.toSqlError(SqliteFailure.from(error, [])))

const ended = (): SqliteFailure.SqliteFailure =>
  new SqliteFailure.SqliteFailure("SQLITE_MISUSE", "The transaction or the reservation of this connection has ended")

const itself = (): SqliteFailure.SqliteFailure =>
  new SqliteFailure.SqliteFailure("SQLITE_MISUSE", "Within a transaction this statement would wait for its own end")

/**
 * Opens a resource and closes it with the scope, even if the wait is interrupted at the moment it succeeds: an
 * interruption discards the value of an effect until the next one has received it.
 *
 * @category constructors
 */
export const held = <A>(
  open: () => A,
  close: (value: A) => void,
  wait: (attempt: () => A) => Effect.Effect<A, SqlError>
): Effect.Effect<A, SqlError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      let value: A | undefined
      const attempt = (): A => {
        value = open()
        return value
      }
      return Effect.zipRight(
        Effect.addFinalizer(() => Effect.sync(() => value !== undefined && close(value))),
        restore(wait(attempt))
      )
    })
  )

const closeCursor = (cursor: SqliteDriver.Cursor): void => cursor.close()

abstract class Executor implements Connection {
  readonly pool: Host
  /** Whether others wait for what this connection holds. */
  protected abstract readonly isAhead: boolean
  constructor(pool: Host) {
    this.pool = pool
  }
  protected abstract attempt<A>(
    sql: string,
    operation: Operation<A>,
    fiber: Fiber.RuntimeFiber<any, any>
  ): Effect.Effect<A, SqlError>
  protected abstract cursor(
    sql: string,
    params: ReadonlyArray<unknown>
  ): Effect.Effect<SqliteDriver.Cursor, SqlError, Scope.Scope>
  protected abstract pull<A>(next: () => A): Effect.Effect<A, SqlError>

  private run<A>(sql: string, operation: Operation<A>): Effect.Effect<A, SqlError> {
    return Effect.withFiberRuntime((fiber) => this.pool.inTurn(this.isAhead, () => this.attempt(sql, operation, fiber)))
  }

  first(sql: string, params: ReadonlyArray<unknown>): Effect.Effect<any, SqlError> {
    return this.run(sql, (session, level) => session.first(sql, params, level))
  }
  execute(
    sql: string,
    params: ReadonlyArray<unknown>,
    transform?: Transform
  ): Effect.Effect<ReadonlyArray<any>, SqlError> {
    const rows = this.run(sql, (session, level) => session.rows(sql, params, level))
    return transform === undefined ? rows : Effect.map(rows, transform)
  }
  executeRaw(sql: string, params: ReadonlyArray<unknown>): Effect.Effect<unknown, SqlError> {
    return this.run(sql, (session, level) => session.raw(sql, params, level))
  }
  executeValues(
    sql: string,
    params: ReadonlyArray<unknown>
  ): Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError> {
    return this.run(sql, (session, level) => session.values(sql, params, level))
  }
  executeUnprepared(
    sql: string,
    params: ReadonlyArray<unknown>,
    transform?: Transform
  ): Effect.Effect<ReadonlyArray<any>, SqlError> {
    const rows = this.run(sql, (session, level) => session.unprepared(sql, params, level))
    return transform === undefined ? rows : Effect.map(rows, transform)
  }
  executeStream(sql: string, params: ReadonlyArray<unknown>, transform?: Transform): Stream.Stream<any, SqlError> {
    // SQLite completes all writes of a statement before it returns the first row.
    if (!SqliteText.scan(sql).isRead) return Stream.fromIterableEffect(this.execute(sql, params, transform))
    return Stream.unwrapScoped(
      Effect.map(this.cursor(sql, params), (cursor) =>
        Stream.repeatEffectChunkOption(
          Effect.flatMap(
            Effect.mapError(
              Effect.suspend(() => this.pool.inTurn(this.isAhead, () => this.pull(() => cursor.next(CHUNK)))),
              Option.some
            ),
            (rows) =>
              rows.length === 0
                ? Effect.fail(Option.none())
                : Effect.succeed(Chunk.unsafeFromArray(transform === undefined ? rows : transform(rows)))
          )
        )
      )
    )
  }
}

/**
 * A connection that belongs to one fiber until it is released.
 *
 * @category models
 */
export class Lease extends Executor {
  protected readonly isAhead = true
  private readonly session: Session
  private readonly turn: Permits.Permit
  private readonly asked: number
  private isOpen = true
  constructor(pool: Host, session: Session, turn: Permits.Permit, asked: number) {
    super(pool)
    this.session = session
    this.turn = turn
    this.asked = asked
    session.lease()
  }

  /** Rolls back what is not committed. */
  release(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.pool.returned(this.session)
    this.turn.release()
  }

  protected attempt<A>(
    _sql: string,
    operation: Operation<A>,
    fiber: Fiber.RuntimeFiber<any, any>
  ): Effect.Effect<A, SqlError> {
    const level = levelOf(fiber)
    const attempt = () => {
      if (!this.isOpen) throw ended()
      const value = operation(this.session, level)
      this.pool.free()
      return value
    }
    try {
      return Effect.succeed(attempt())
    } catch (error) {
      if (!this.isWorthWaiting(error)) return failed(error)
      this.pool.courtesy.met()
      return this.pool.patiently(attempt, this.asked)
    }
  }

  protected cursor(
    sql: string,
    params: ReadonlyArray<unknown>
  ): Effect.Effect<SqliteDriver.Cursor, SqlError, Scope.Scope> {
    const open = () => {
      if (!this.isOpen) throw ended()
      return this.session.cursor(sql, params)
    }
    return held(open, closeCursor, (attempt) => this.pull(attempt))
  }

  protected pull<A>(next: () => A): Effect.Effect<A, SqlError> {
    return SqliteBusy.retry(next, this.pool.busyTimeout)
  }

  /** A transaction whose snapshot is outdated fails on every retry. */
  private isWorthWaiting(error: unknown): boolean {
    if (!SqliteFailure.isBusy(error)) return false
    return SqliteFailure.codeOf(error) !== "SQLITE_BUSY_SNAPSHOT" || !this.session.isInTransaction()
  }
}

/**
 * Runs single statements outside of transactions.
 *
 * @category models
 */
export class Direct extends Executor {
  protected readonly isAhead = false

  protected attempt<A>(
    sql: string,
    operation: Operation<A>,
    fiber: Fiber.RuntimeFiber<any, any>
  ): Effect.Effect<A, SqlError> {
    const { courtesy, isMemory, main, turns } = this.pool
    const level = levelOf(fiber)
    if ((turns.isFull() || courtesy.isDue()) && (isMemory || !main.isRead(sql))) {
      return this.inLine(operation, level, fiber)
    }
    try {
      return Effect.succeed(operation(main, level))
    } catch (error) {
      if (!SqliteFailure.isBusy(error)) return failed(error)
      // Does not wait for the turn: the open transaction of this process may be waiting for this read.
      courtesy.met()
      return main.isRead(sql) ? this.waiting(operation, level) : this.inLine(operation, level, fiber)
    }
  }

  protected cursor(
    sql: string,
    params: ReadonlyArray<unknown>
  ): Effect.Effect<SqliteDriver.Cursor, SqlError, Scope.Scope> {
    const { pool } = this
    const pull = <A>(attempt: () => A) => this.pull(attempt)
    if (pool.isMemory) return held(() => pool.main.cursor(sql, params), closeCursor, pull)
    return Effect.flatMap(
      held(
        () => pool.reader(),
        (session) => pool.readerDone(session),
        pull
      ),
      // The cursor is closed with its connection.
      (session) => pull(() => session.cursor(sql, params))
    )
  }

  protected pull<A>(next: () => A): Effect.Effect<A, SqlError> {
    const { pool } = this
    const attempt = SqliteBusy.retry(next, pool.busyTimeout)
    if (!pool.isMemory) return attempt
    // Inside a transaction the caller already has the turn.
    return Effect.withFiberRuntime((fiber) =>
      pool.turns.isFull() && pool.leaseOf(fiber.currentContext) === undefined ? pool.turns.withPermit(attempt) : attempt
    )
  }

  private waiting<A>(operation: Operation<A>, level: Level | undefined): Effect.Effect<A, SqlError> {
    return SqliteBusy.retry(() => operation(this.pool.main, level), this.pool.busyTimeout)
  }

  private inLine<A>(
    operation: Operation<A>,
    level: Level | undefined,
    fiber: Fiber.RuntimeFiber<any, any>
  ): Effect.Effect<A, SqlError> {
    if (this.pool.leaseOf(fiber.currentContext) !== undefined) return failed(itself())
    const { courtesy, main, turns } = this.pool
    const asked = SqliteBusy.now()
    const attempt = () => {
      const value = operation(main, level)
      this.pool.free()
      return value
    }
    return turns.withPermit(Effect.zipRight(courtesy.standBack, this.pool.patiently(attempt, asked)))
  }
}
