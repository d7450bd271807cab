/**
 * The connections to one database: one for single statements, one for transactions, and one for each stream, so that
 * reads continue while a transaction is open. A database in memory has only one connection.
 *
 * @private
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Permits from "../../internal/fiber/Permits.js"
import * as SqliteBusy from "./SqliteBusy.js"
import type * as SqliteDriver from "./SqliteDriver.js"
import { Direct, type Host, held, Lease } from "./SqliteExecutor.js"
import * as SqliteFailure from "./SqliteFailure.js"
import { Session, type Shared } from "./SqliteSession.js"
import * as SqliteStretch from "./SqliteStretch.js"

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const IDLE_READERS = 2

/**
 * Throws a `SqliteFailure` and closes everything if the database cannot be opened.
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
export class Pool implements Host {
  readonly isMemory: boolean
  readonly busyTimeout: number
  readonly turns: Permits.Line = Permits.line(1)
  readonly courtesy: SqliteBusy.Courtesy = SqliteBusy.courtesy()
  private readonly stretch: SqliteStretch.Stretch = SqliteStretch.make(SqliteBusy.now)
  readonly main: Session
  readonly direct: Connection
  private readonly shared: Shared
  private readonly leased: new (
    pool: Host,
    session: Session,
    turn: Permits.Permit,
    asked: number
  ) => Lease
  private writer: Session | undefined
  private readonly idle: Array<Session> = []
  private readonly reading = new Set<Session>()
  private isClosed = false
  /** Since when writes of this process have failed because of a lock. */
  private lockedSince: number | undefined

  /** Throws a `SqliteFailure`. */
  constructor(shared: Shared, busyTimeout: number) {
    this.shared = shared
    this.busyTimeout = busyTimeout
    this.isMemory = shared.file === ":memory:"
    this.main = new Session(shared)
    this.direct = new Direct(this)
    // A class per client tells its leases from those of other clients.
    this.leased = class extends Lease {}
  }

  get driver(): SqliteDriver.Name {
    return this.shared.driver.name
  }

  get file(): string {
    return this.shared.file
  }

  /** The transaction in the context, if it belongs to this database. */
  leaseOf(context: Context.Context<never>): readonly [connection: Connection, depth: number] | undefined {
    const found = context.unsafeMap.get(SqlClient.TransactionConnection.key) as
      | readonly [conn: Connection, depth: number]
      | undefined
    return found !== undefined && found[0] instanceof this.leased ? found : undefined
  }

  inTurn<A, E>(isAhead: boolean, next: () => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return this.stretch.isOver(isAhead) ? Effect.zipRight(this.stretch.pause(isAhead), Effect.suspend(next)) : next()
  }

  /** A lease if there is nothing to wait for. */
  private leaseNow(): Lease | undefined {
    if (this.writer === undefined || this.turns.isFull() || this.courtesy.isDue()) return undefined
    if (this.stretch.isOver(false)) return undefined
    return new this.leased(this, this.writer, this.turns.ask(), SqliteBusy.now())
  }

  /** Must be called uninterruptibly. `restore` makes the wait interruptible. */
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
              .wait()
              .pipe(
                Effect.zipRight(this.courtesy.standBack),
                Effect.zipRight(
                  Effect.suspend(() => this.inTurn(true, () => this.patiently(() => this.writing(), asked)))
                )
              )
          ),
          (session) => new this.leased(this, session, turn, asked)
        ),
        () => Effect.sync(() => turn.release())
      )
    })
  }

  free(): void {
    this.lockedSince = undefined
  }

  patiently<A>(attempt: () => A, asked: number): Effect.Effect<A, SqlError> {
    return SqliteBusy.retry(attempt, this.busyTimeout, () => {
      this.lockedSince ??= SqliteBusy.now()
      return Math.max(asked, this.lockedSince)
    })
  }

  /** Runs on a connection of its own, or waits for the turn if there is only one connection. */
  aside<A>(operation: (session: Session) => A): Effect.Effect<A, SqlError> {
    if (this.isMemory) return this.turns.withPermit(SqliteBusy.retry(() => operation(this.main), 0))
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
      // Leaves no work to the next process that opens the file, even if side files remain.
      if (!this.shared.driver.closesWhole && !this.isMemory && !this.shared.readonly) {
        this.main.pragma("wal_checkpoint(TRUNCATE)")
      }
    } catch {
      // Another process is reading, or the disk is full: the next one to close does it.
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
      // The session is not used again.
    }
  }
}
