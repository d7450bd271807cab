/**
 * The connections to one database: one for statements by themselves, one for transactions, and one for each stream, so
 * that reads go on while a transaction is open. A database in memory has only one.
 *
 * @internal
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Chunk from "effect/Chunk"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Level, Synchronous } from "../engine/Synchronous.js"
import * as SqliteBusy from "./SqliteBusy.js"
import type * as SqliteDriver from "./SqliteDriver.js"
import * as SqliteFailure from "./SqliteFailure.js"
import { Session, type Shared } from "./SqliteSession.js"
import * as SqliteStretch from "./SqliteStretch.js"
import * as SqliteText from "./SqliteText.js"
import * as SqliteTurns from "./SqliteTurns.js"

type Transform = (<A extends object>(row: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
type Operation<A> = (session: Session, level: Level | undefined) => A
type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const CHUNK = 100
const IDLE_READERS = 2

const levelOf = (fiber: Fiber.RuntimeFiber<any, any>): Level | undefined =>
  fiber.currentContext.unsafeMap.get(Synchronous.key) as Level | undefined

const failed = (error: unknown): Effect.Effect<never, SqlError> =>
  Effect.fail(SqliteFailure.toSqlError(SqliteFailure.from(error, [])))

const ended = (): SqliteFailure.SqliteFailure =>
  new SqliteFailure.SqliteFailure("SQLITE_MISUSE", "The transaction or the reservation of this connection has ended")

const itself = (): SqliteFailure.SqliteFailure =>
  new SqliteFailure.SqliteFailure("SQLITE_MISUSE", "Within a transaction this statement would wait for its own end")

/**
 * What is opened is closed with the scope, also when the wait for it is interrupted in the moment in which it succeeds:
 * until an effect has given its value on, an interruption takes that away.
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
  readonly pool: Pool
  /** Others wait for what this connection holds. */
  protected abstract readonly isAhead: boolean
  constructor(pool: Pool) {
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
    // SQLite has done all that a statement writes before it gives the first row.
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

/** A connection that belongs to one fiber until it is released. */
export class Lease extends Executor {
  protected readonly isAhead = true
  private readonly session: Session
  private readonly turn: SqliteTurns.Turn
  private readonly asked: number
  private isOpen = true
  constructor(pool: Pool, session: Session, turn: SqliteTurns.Turn, asked: number) {
    super(pool)
    this.session = session
    this.turn = turn
    this.asked = asked
    session.lease()
  }

  /** Undoes what is not committed. */
  release(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.pool.returned(this.session)
    this.turn.end()
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

  /** What a transaction has read is no longer so: the same again would fail again. */
  private isWorthWaiting(error: unknown): boolean {
    if (!SqliteFailure.isBusy(error)) return false
    return SqliteFailure.codeOf(error) !== "SQLITE_BUSY_SNAPSHOT" || !this.session.isInTransaction()
  }
}

/** Statements by themselves. */
class Direct extends Executor {
  protected readonly isAhead = false

  protected attempt<A>(
    sql: string,
    operation: Operation<A>,
    fiber: Fiber.RuntimeFiber<any, any>
  ): Effect.Effect<A, SqlError> {
    const { courtesy, isMemory, main, turns } = this.pool
    const level = levelOf(fiber)
    if ((turns.isTaken() || courtesy.isDue()) && (isMemory || !main.isRead(sql))) {
      return this.inLine(operation, level, fiber)
    }
    try {
      return Effect.succeed(operation(main, level))
    } catch (error) {
      if (!SqliteFailure.isBusy(error)) return failed(error)
      // Not in line: the transaction that is open here may be waiting for this read.
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
      // Closed with its connection.
      (session) => pull(() => session.cursor(sql, params))
    )
  }

  protected pull<A>(next: () => A): Effect.Effect<A, SqlError> {
    const { pool } = this
    const attempt = SqliteBusy.retry(next, pool.busyTimeout)
    if (!pool.isMemory) return attempt
    // The transaction in which it is pulled has the turn.
    return Effect.withFiberRuntime((fiber) =>
      pool.turns.isTaken() && pool.leaseOf(fiber.currentContext) === undefined ? pool.turns.withTurn(attempt) : attempt
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
    return turns.withTurn(Effect.zipRight(courtesy.standBack, this.pool.patiently(attempt, asked)))
  }
}

/**
 * Throws a `SqliteFailure`, and has closed everything then.
 *
 * @category constructors
 */
export const open = (shared: Shared, busyTimeout: number): Pool => {
  const pool = new Pool(shared, busyTimeout)
  try {
    pool.main.configure(false)
    return pool
  } catch (error) {
    pool.close()
    throw error
  }
}

/**
 * @category models
 */
export class Pool {
  readonly isMemory: boolean
  readonly busyTimeout: number
  readonly turns: SqliteTurns.Turns = SqliteTurns.make()
  readonly courtesy: SqliteBusy.Courtesy = SqliteBusy.courtesy()
  private readonly stretch: SqliteStretch.Stretch = SqliteStretch.make(SqliteBusy.now)
  readonly main: Session
  readonly direct: Connection
  private readonly shared: Shared
  private readonly leased: new (
    pool: Pool,
    session: Session,
    turn: SqliteTurns.Turn,
    asked: number
  ) => Lease
  private writer: Session | undefined
  private readonly idle: Array<Session> = []
  private readonly reading = new Set<Session>()
  private isClosed = false
  /** Since when nobody here has got through to write, if somebody tried. */
  private lockedSince: number | undefined

  /** Throws a `SqliteFailure`. */
  constructor(shared: Shared, busyTimeout: number) {
    this.shared = shared
    this.busyTimeout = busyTimeout
    this.isMemory = shared.file === ":memory:"
    this.main = new Session(shared)
    this.direct = new Direct(this)
    // Of each client: by it others know which client a connection is of.
    this.leased = class extends Lease {}
  }

  get driver(): SqliteDriver.Name {
    return this.shared.driver.name
  }

  get file(): string {
    return this.shared.file
  }

  /** The connection of the transaction in a context, if it is one of this database. */
  leaseOf(context: Context.Context<never>): readonly [connection: Connection, depth: number] | undefined {
    const found = context.unsafeMap.get(SqlClient.TransactionConnection.key) as
      | readonly [conn: Connection, depth: number]
      | undefined
    return found !== undefined && found[0] instanceof this.leased ? found : undefined
  }

  /** At once, or when the event loop had its turn. */
  inTurn<A, E>(isAhead: boolean, next: () => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return this.stretch.isOver(isAhead) ? Effect.zipRight(this.stretch.pause(isAhead), Effect.suspend(next)) : next()
  }

  /** Where nobody has to be waited for. */
  leaseNow(): Lease | undefined {
    if (this.writer === undefined || this.turns.isTaken() || this.courtesy.isDue()) return undefined
    if (this.stretch.isOver(false)) return undefined
    return new this.leased(this, this.writer, this.turns.ask(), SqliteBusy.now())
  }

  /** To be called where nobody can interrupt; `restore` is for the wait. */
  lease(restore: Restore): Effect.Effect<Lease, SqlError> {
    return Effect.suspend(() => {
      const now = this.leaseNow()
      if (now !== undefined) return Effect.succeed(now)
      const turn = this.turns.ask()
      const asked = SqliteBusy.now()
      return Effect.onError(
        Effect.map(
          restore(
            turn
              .come()
              .pipe(
                Effect.zipRight(this.courtesy.standBack),
                Effect.zipRight(
                  Effect.suspend(() => this.inTurn(true, () => this.patiently(() => this.writing(), asked)))
                )
              )
          ),
          (session) => new this.leased(this, session, turn, asked)
        ),
        () => Effect.sync(() => turn.end())
      )
    })
  }

  /** Somebody here has got through. */
  free(): void {
    this.lockedSince = undefined
  }

  /**
   * Waits for other processes no longer than it may since it was asked for: what it has waited here behind others that
   * met the same lock counts, so that a process that stands still does not hold up each of a line for all of the time.
   * To be used by whoever has the turn.
   */
  patiently<A>(attempt: () => A, asked: number): Effect.Effect<A, SqlError> {
    return SqliteBusy.retry(attempt, this.busyTimeout, () => {
      this.lockedSince ??= SqliteBusy.now()
      return Math.max(asked, this.lockedSince)
    })
  }

  /** Beside transactions: on a connection of its own, or where there is only one, on that when its turn comes. */
  aside<A>(operation: (session: Session) => A): Effect.Effect<A, SqlError> {
    if (this.isMemory) return this.turns.withTurn(SqliteBusy.retry(() => operation(this.main), 0))
    return Effect.scoped(
      Effect.flatMap(
        held(
          () => this.opened(false),
          (session) => this.discard(session),
          (attempt) => SqliteBusy.retry(attempt, this.busyTimeout)
        ),
        (session) => SqliteBusy.retry(() => operation(session), this.busyTimeout)
      )
    )
  }

  returned(session: Session): void {
    try {
      session.giveBack()
    } catch {
      if (!this.isMemory) this.discard(session)
    }
  }

  reader(): Session {
    const session = this.idle.pop() ?? this.opened(true)
    this.reading.add(session)
    return session
  }

  readerDone(session: Session): void {
    this.reading.delete(session)
    try {
      session.closeCursors()
      if (!this.isClosed && this.idle.length < IDLE_READERS) {
        this.idle.push(session)
        return
      }
    } catch {
      // Closed below.
    }
    this.discard(session)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    for (const session of [...this.idle, ...this.reading]) this.discard(session)
    if (this.writer !== undefined && this.writer !== this.main) this.discard(this.writer)
    try {
      // Nothing is left to do for whoever opens the file next, even if side files stay.
      if (!this.shared.driver.closesWhole && !this.isMemory && !this.shared.readonly) {
        this.main.pragma("wal_checkpoint(TRUNCATE)")
      }
    } catch {
      // Somebody else is reading, or the disk is full: the next one that closes does it.
    }
    this.main.close()
  }

  private writing(): Session {
    if (this.isClosed) throw new SqliteFailure.SqliteFailure("SQLITE_MISUSE", "The client is closed")
    if (this.writer === undefined) this.writer = this.isMemory ? this.main : this.opened(false)
    return this.writer
  }

  private opened(isReader: boolean): Session {
    if (this.isClosed) throw new SqliteFailure.SqliteFailure("SQLITE_MISUSE", "The client is closed")
    const session = new Session(this.shared)
    try {
      session.configure(isReader)
    } catch (error) {
      this.discard(session)
      throw error
    }
    return session
  }

  private discard(session: Session): void {
    if (this.writer === session) this.writer = undefined
    try {
      session.close()
    } catch {
      // It is not used again.
    }
  }
}
