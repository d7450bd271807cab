/**
 * The driver for `libsql`, which never resets a statement that failed because of a lock, and cannot close unfinished
 * rows. Until a statement that writes is reset, its connection commits no other one.
 *
 * @private
 * @since 0.1.0
 */
import { pathToFileURL } from "node:url"
import type * as SqliteDriver from "./SqliteDriver.js"
import * as SqliteLeftovers from "./SqliteLeftovers.js"
import { type Bindable, type Row, readAll, toRow, toRows } from "./SqliteValues.js"

interface Statement {
  readonly reader: boolean
  readonly all: (params: ReadonlyArray<Bindable>) => Array<any>
  readonly get: (params: ReadonlyArray<Bindable>) => Array<unknown> | undefined
  readonly run: (params: ReadonlyArray<Bindable>) => SqliteDriver.Changes
  readonly iterate: (params: ReadonlyArray<Bindable>) => Iterator<Array<unknown>>
  readonly columns: () => ReadonlyArray<{ readonly name: string }>
  readonly raw: (enabled: boolean) => Statement
  readonly safeIntegers: (enabled: boolean) => Statement
}

interface Database {
  readonly prepare: (sql: string) => Statement
  readonly exec: (sql: string) => void
  readonly inTransaction: boolean
  readonly interrupt: () => void
  readonly loadExtension: (path: string) => unknown
  readonly close: () => void
}

interface Module {
  readonly default: new (file: string) => Database
}

const isBusy = (error: unknown): boolean =>
  String((error as { readonly code?: unknown } | undefined)?.code).startsWith("SQLITE_BUSY")

const drain = (rows: Iterator<unknown>): void => {
  try {
    while (rows.next().done !== true);
  } catch {
    // The interruption ends it.
  }
}

const namesOf = (statement: Statement): ReadonlyArray<string> => statement.columns().map(({ name }) => name)

class Prepared implements SqliteDriver.Prepared {
  readonly isReader: boolean
  private readonly handle: Handle
  private readonly sql: string
  private readonly statement: Statement
  private readonly names: ReadonlyArray<string>
  private readonly hasStar: boolean
  private single: Statement | undefined
  constructor(handle: Handle, sql: string, hasStar: boolean) {
    this.handle = handle
    this.sql = sql
    this.statement = handle.statement(sql)
    this.hasStar = hasStar
    this.isReader = this.statement.reader
    this.names = this.isReader ? namesOf(this.statement) : []
  }
  private columns(): ReadonlyArray<string> {
    return this.hasStar ? namesOf(this.statement) : this.names
  }
  private guarded<A>(
    params: ReadonlyArray<Bindable>,
    f: (statement: Statement) => A,
    statement: Statement = this.statement
  ): A {
    try {
      return f(statement)
    } catch (error) {
      if (isBusy(error)) this.handle.reset(statement, params)
      throw error
    }
  }
  all(params: ReadonlyArray<Bindable>): Array<Row> {
    const rows = this.guarded(params, (statement) => statement.all(params) as Array<Array<unknown>>)
    return rows.length === 0 ? [] : toRows(rows, this.columns())
  }
  first(params: ReadonlyArray<Bindable>): Row | undefined {
    // Uses a separate statement: after a list without rows the next single row would be missing, and after an error it
    // would be the same error again.
    const statement = this.single ?? this.handle.statement(this.sql)
    this.single = undefined
    const row = this.guarded(params, () => statement.get(params), statement)
    this.single = statement
    return row === undefined ? undefined : toRow(row, this.hasStar ? namesOf(statement) : this.names)
  }
  values(params: ReadonlyArray<Bindable>): Array<Array<unknown>> {
    return readAll(this.guarded(params, (statement) => statement.all(params) as Array<Array<unknown>>))
  }
  run(params: ReadonlyArray<Bindable>): SqliteDriver.Changes {
    const { changes, lastInsertRowid } = this.guarded(params, (statement) => statement.run(params))
    const rowid = Number(lastInsertRowid)
    return { changes: Number(changes), lastInsertRowid: Number.isSafeInteger(rowid) ? rowid : lastInsertRowid }
  }
  iterate(params: ReadonlyArray<Bindable>): SqliteDriver.Cursor {
    const columns = this.columns()
    const rows = this.guarded(params, (statement) => statement.iterate(params))
    this.handle.opened(rows)
    return {
      next: (max) => {
        const found: Array<Array<unknown>> = []
        try {
          while (found.length < max) {
            const next = rows.next()
            if (next.done === true) {
              this.handle.over(rows)
              break
            }
            found.push(next.value)
          }
        } catch (error) {
          this.handle.over(rows)
          throw error
        }
        return toRows(found, columns)
      },
      close: () => this.handle.left(rows)
    }
  }
}

class Handle implements SqliteDriver.Handle {
  private readonly database: Database
  private readonly live = new Set<Iterator<unknown>>()
  private readonly unwanted = new Set<Iterator<unknown>>()
  private readonly isFile: boolean
  /** Becomes garbage together with the statements. */
  private pin: object | undefined = {}
  constructor(database: Database, isFile: boolean) {
    this.database = database
    this.isFile = isFile
  }
  prepare(sql: string, traits?: SqliteDriver.Traits): SqliteDriver.Prepared {
    return new Prepared(this, sql, traits?.hasStar === true)
  }
  statement(sql: string): Statement {
    const statement = this.database.prepare(sql)
    statement.safeIntegers(true)
    return statement.reader ? statement.raw(true) : statement
  }
  exec(sql: string): void {
    this.database.exec(sql)
  }
  isInTransaction(): boolean {
    return this.database.inTransaction
  }
  close(): void {
    this.database.close()
    if (this.isFile && this.pin !== undefined) SqliteLeftovers.ofProcess.closed(this.pin)
    this.pin = undefined
  }
  opened(rows: Iterator<unknown>): void {
    this.live.add(rows)
  }
  over(rows: Iterator<unknown>): void {
    this.live.delete(rows)
    this.sweep()
  }
  left(rows: Iterator<unknown>): void {
    if (!this.live.delete(rows)) return
    this.unwanted.add(rows)
    this.sweep()
  }
  /**
   * An interruption reaches all running statements of the connection, so it waits until no wanted one is running.
   */
  private sweep(): void {
    if (this.live.size > 0 || this.unwanted.size === 0) return
    this.database.interrupt()
    for (const rows of this.unwanted) drain(rows)
    this.unwanted.clear()
  }
  /**
   * A statement that begins while an interrupted one is running is interrupted before its first step, and an
   * interrupted statement is reset. So this resets the statement without doing anything else.
   */
  reset(statement: Statement, params: ReadonlyArray<Bindable>): void {
    const open = this.database.prepare("SELECT 1 UNION ALL SELECT 2")
    const rows = open.iterate([])
    this.database.interrupt()
    try {
      statement.run(params)
    } catch {
      // Interrupted.
    }
    drain(rows)
  }
}

export const load = async (): Promise<SqliteDriver.Driver> => {
  const module = (await import("libsql")) as unknown as Module
  return {
    name: "libsql",
    closesWhole: false,
    open: ({ extensions, file, readonly }) => {
      const database = new module.default(readonly ? `${pathToFileURL(file).href}?mode=ro` : file)
      for (const path of extensions) database.loadExtension(path)
      return new Handle(database, file !== ":memory:")
    }
  }
}
