/**
 * One open connection to SQLite with its settings and prepared statements. All methods are synchronous and throw
 * `SqliteFailure`s.
 *
 * @private
 * @since 0.1.0
 */

import type { Level } from "../engine/Synchronous.js"
import type * as SqliteDriver from "./SqliteDriver.js"
import * as SqliteFailure from "./SqliteFailure.js"
import * as SqliteText from "./SqliteText.js"
import * as SqliteValues from "./SqliteValues.js"

/**
 * What all connections to one file share.
 *
 * @category models
 */
export interface Shared {
  readonly driver: SqliteDriver.Driver
  readonly file: string
  readonly readonly: boolean
  readonly synchronous: Level
  readonly statementCache: number
  readonly maxPages: number | undefined
  readonly extensions: ReadonlyArray<string>
  /** Grows when the schema changes: statements prepared before may have other columns now. */
  schema: number
}

interface Known {
  readonly shape: SqliteText.Shape
  readonly prepared: SqliteDriver.Prepared
}

const none: ReadonlyArray<any> = []

const misuse = (message: string): SqliteFailure.SqliteFailure =>
  new SqliteFailure.SqliteFailure("SQLITE_MISUSE", message)

/**
 * @category models
 */
export class Session {
  readonly handle: SqliteDriver.Handle
  private readonly shared: Shared
  private readonly known = new Map<string, Known>()
  /** Maps each cursor to whether it belongs to the lease in which it was opened. */
  private readonly cursors = new Map<SqliteDriver.Cursor, boolean>()
  private schema: number
  private level: Level
  private isClosed = false
  private leasedAt: number | undefined

  constructor(shared: Shared) {
    this.shared = shared
    this.schema = shared.schema
    this.level = shared.synchronous
    try {
      this.handle = shared.driver.open(shared)
    } catch (error) {
      throw SqliteFailure.from(error, [shared.file], "SQLITE_CANTOPEN")
    }
  }

  /**
   * Call it once, and again after a lock. `isReader` forbids writes. SQLite must not wait for locks itself, because
   * that would block the process.
   */
  configure(isReader: boolean): void {
    this.guarded(none, () => {
      const { file, maxPages, readonly } = this.shared
      this.handle.exec("PRAGMA busy_timeout = 0")
      this.handle.exec(`PRAGMA foreign_keys = ON; PRAGMA synchronous = ${this.level}`)
      if (maxPages !== undefined) this.handle.exec(`PRAGMA max_page_count = ${maxPages}`)
      if (isReader) this.handle.exec("PRAGMA query_only = ON")
      // The first statement that needs the file: it may be missing or not a database.
      const mode = this.pragma("journal_mode")
      if (file === ":memory:" || readonly || mode === "wal") return
      const now = this.pragma("journal_mode = WAL")
      if (now !== "wal")
        throw new SqliteFailure.SqliteFailure("SQLITE_CANTOPEN", "The file cannot have a write-ahead log")
    })
  }

  /** The first value that a pragma returns. */
  pragma(text: string): unknown {
    return this.guarded(none, () => this.handle.prepare(`PRAGMA ${text}`).values(none)[0]?.[0])
  }

  /** As of the last preparation of the text. */
  isRead(sql: string): boolean {
    const known = this.known.get(sql)
    return known === undefined ? SqliteText.scan(sql).isRead : known.shape.isRead
  }

  rows(sql: string, params: ReadonlyArray<unknown>, level: Level | undefined): ReadonlyArray<any> {
    const { known, bound } = this.ready(sql, params, level)
    if (known === undefined) return none
    return this.guarded(bound, () => {
      if (known.prepared.isReader) return known.prepared.all(bound)
      known.prepared.run(bound)
      return none
    })
  }

  /** The first row. A statement without rows is run. */
  first(sql: string, params: ReadonlyArray<unknown>, level: Level | undefined): any {
    const { known, bound } = this.ready(sql, params, level)
    if (known === undefined) return undefined
    return this.guarded(bound, () => {
      if (known.prepared.isReader) return known.prepared.first(bound)
      known.prepared.run(bound)
      return undefined
    })
  }

  raw(sql: string, params: ReadonlyArray<unknown>, level: Level | undefined): unknown {
    const { known, bound } = this.ready(sql, params, level)
    if (known === undefined) return none
    return this.guarded(bound, () => (known.prepared.isReader ? known.prepared.all(bound) : known.prepared.run(bound)))
  }

  values(sql: string, params: ReadonlyArray<unknown>, level: Level | undefined): ReadonlyArray<ReadonlyArray<unknown>> {
    const { known, bound } = this.ready(sql, params, level)
    if (known === undefined) return none
    return this.guarded(bound, () => {
      if (known.prepared.isReader) return known.prepared.values(bound)
      known.prepared.run(bound)
      return none
    })
  }

  /** Runs one statement without caching it, or several without parameters and rows. */
  unprepared(sql: string, params: ReadonlyArray<unknown>, level: Level | undefined): ReadonlyArray<any> {
    this.open()
    const shape = SqliteText.scan(sql)
    if (shape.transaction !== undefined && this.leasedAt === undefined) {
      throw misuse("Transactions are those of withTransaction, or of a connection of their own from reserve")
    }
    // SQLite has already rolled back if the disk or memory was full.
    if (shape.transaction === "rollback" && !this.handle.isInTransaction()) return none
    if (shape.transaction === "rollback" && this.shared.schema !== this.leasedAt) this.forget()
    if (!shape.isRead) this.synchronize(level)
    if (shape.statements > 1 || shape.isTrigger || shape.transaction !== undefined) {
      if (params.length > 0) throw misuse("Several statements, or none that rows come from, take no parameters")
      if (shape.statements > 1) this.script(sql)
      else this.exec(sql, shape.changesSchema)
      return none
    }
    const bound = this.fitting(shape, params)
    return this.guarded(bound, () => {
      const prepared = this.handle.prepare(sql, shape)
      if (prepared.isReader) return prepared.all(bound)
      prepared.run(bound)
      if (shape.changesSchema) this.forget()
      return none
    })
  }

  /** The cursor has its own statement. */
  cursor(sql: string, params: ReadonlyArray<unknown>): SqliteDriver.Cursor {
    this.open()
    const shape = SqliteText.scan(sql)
    if (shape.statements !== 1) throw misuse(`${shape.statements} statements where there must be one`)
    const bound = this.fitting(shape, params)
    const inner = this.guarded(bound, () => {
      const prepared = this.handle.prepare(sql, shape)
      return prepared.isReader ? prepared.iterate(bound) : undefined
    })
    if (inner === undefined) throw misuse("Only statements that give rows can be streamed")
    let isOver = false
    const cursor: SqliteDriver.Cursor = {
      next: (max) => {
        if (isOver) return none
        if (!this.cursors.has(cursor)) throw misuse("The transaction or the client of this stream has ended")
        const rows = this.guarded(bound, () => inner.next(max))
        isOver = rows.length < max
        return rows
      },
      close: () => {
        if (this.cursors.delete(cursor)) this.guarded(bound, () => inner.close())
      }
    }
    this.cursors.set(cursor, this.leasedAt !== undefined)
    return cursor
  }

  /** Gives the connection to one fiber: transactions may now span statements. */
  lease(): void {
    this.leasedAt = this.shared.schema
  }

  /** Rolls back what is not committed. */
  giveBack(): void {
    const from = this.leasedAt
    this.leasedAt = undefined
    for (const [cursor, isLeased] of this.cursors) if (isLeased) cursor.close()
    if (!this.isInTransaction()) return
    this.guarded(none, () => this.handle.exec("ROLLBACK"))
    // Tables created in the transaction are gone.
    if (this.shared.schema !== from) this.forget()
  }

  isInTransaction(): boolean {
    return !this.isClosed && this.handle.isInTransaction()
  }

  closeCursors(): void {
    for (const cursor of this.cursors.keys()) cursor.close()
  }

  close(): void {
    if (this.isClosed) return
    this.closeCursors()
    this.isClosed = true
    this.known.clear()
    this.guarded(none, () => this.handle.close())
  }

  /** Prepares all statements again, on all connections. */
  forget(): void {
    this.shared.schema++
  }

  private open(): void {
    if (this.isClosed) throw misuse("The client is closed")
    if (this.schema === this.shared.schema) return
    this.schema = this.shared.schema
    this.known.clear()
  }

  /** Statements after the first one cannot wait for a lock, so it is acquired before. */
  private script(sql: string): void {
    if (!this.handle.isInTransaction() && !this.shared.readonly) {
      this.guarded(none, () => this.handle.exec("BEGIN IMMEDIATE; ROLLBACK"))
    }
    try {
      this.exec(sql, true)
    } catch (error) {
      const { code, message } = SqliteFailure.from(error, none)
      throw new SqliteFailure.SqliteFailure(code, message, true)
    }
  }

  private exec(sql: string, changesSchema: boolean): void {
    try {
      this.guarded(none, () => this.handle.exec(sql))
    } finally {
      // A script may have failed halfway and left a transaction open.
      if (changesSchema) this.forget()
      if (this.leasedAt === undefined && this.handle.isInTransaction()) this.handle.exec("ROLLBACK")
    }
  }

  private ready(
    sql: string,
    params: ReadonlyArray<unknown>,
    level: Level | undefined
  ): { readonly known: Known | undefined; readonly bound: ReadonlyArray<SqliteValues.Bindable> } {
    this.open()
    let known = this.known.get(sql)
    if (known === undefined) {
      const shape = SqliteText.scan(sql)
      if (shape.statements !== 1 && !shape.isTrigger) {
        throw misuse(`${shape.statements} statements where there must be one; unprepared takes several`)
      }
      if (shape.changesSchema || shape.transaction !== undefined) {
        this.unprepared(sql, params, level)
        return { known: undefined, bound: none }
      }
      known = { shape, prepared: this.guarded(params, () => this.handle.prepare(sql, shape)) }
      this.keep(sql, known)
    } else if (this.known.size >= this.shared.statementCache) {
      this.known.delete(sql)
      this.known.set(sql, known)
    }
    if (!known.shape.isRead) this.synchronize(level)
    return { known, bound: this.fitting(known.shape, params) }
  }

  private keep(sql: string, known: Known): void {
    if (this.shared.statementCache <= 0) return
    this.known.set(sql, known)
    if (this.known.size <= this.shared.statementCache) return
    const oldest = this.known.keys().next()
    if (oldest.done !== true) this.known.delete(oldest.value)
  }

  private fitting(shape: SqliteText.Shape, params: ReadonlyArray<unknown>): ReadonlyArray<SqliteValues.Bindable> {
    if (shape.parameters !== undefined && shape.parameters !== params.length) {
      throw new SqliteFailure.SqliteFailure(
        "SQLITE_RANGE",
        `The statement has ${shape.parameters} parameters, and ${params.length} were given`
      )
    }
    return SqliteValues.bind(params)
  }

  /** Cannot be changed within a transaction. */
  private synchronize(level: Level | undefined): void {
    const wanted = level ?? this.shared.synchronous
    if (wanted === this.level || this.handle.isInTransaction()) return
    this.guarded(none, () => this.handle.exec(`PRAGMA synchronous = ${wanted}`))
    this.level = wanted
  }

  private guarded<A>(params: ReadonlyArray<unknown>, f: () => A): A {
    try {
      return f()
    } catch (error) {
      throw SqliteFailure.from(error, params)
    }
  }
}
