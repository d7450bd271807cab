/**
 * The driver for `better-sqlite3`.
 *
 * @private
 * @since 0.1.0
 */
import * as SqliteDriver from "./SqliteDriver.js"
import { type Bindable, type Row, readAll, toRow, toRows } from "./SqliteValues.js"

interface Statement {
  readonly reader: boolean
  readonly all: (params: ReadonlyArray<Bindable>) => Array<Array<unknown>>
  readonly get: (params: ReadonlyArray<Bindable>) => Array<unknown> | undefined
  readonly run: (params: ReadonlyArray<Bindable>) => SqliteDriver.Changes
  readonly iterate: (params: ReadonlyArray<Bindable>) => Iterator<Array<unknown>>
  readonly columns: () => ReadonlyArray<{ readonly name: string }>
  readonly raw: (enabled: boolean) => Statement
  readonly safeIntegers: (enabled: boolean) => Statement
}

interface Database {
  readonly prepare: (sql: string) => Statement
  readonly exec: (sql: string) => unknown
  readonly inTransaction: boolean
  readonly unsafeMode: (enabled: boolean) => unknown
  readonly loadExtension: (path: string) => unknown
  readonly close: () => unknown
}

interface Module {
  readonly default: new (file: string, options: { readonly readonly: boolean; readonly timeout: number }) => Database
}

class Prepared implements SqliteDriver.Prepared {
  readonly isReader: boolean
  private readonly statement: Statement
  private readonly names: ReadonlyArray<string>
  private readonly hasStar: boolean
  constructor(statement: Statement, hasStar: boolean) {
    this.statement = statement.safeIntegers(true)
    this.hasStar = hasStar
    this.isReader = statement.reader
    if (this.isReader) statement.raw(true)
    this.names = this.isReader ? statement.columns().map(({ name }) => name) : []
  }
  private columns(): ReadonlyArray<string> {
    return this.hasStar ? this.statement.columns().map(({ name }) => name) : this.names
  }
  all(params: ReadonlyArray<Bindable>): Array<Row> {
    const rows = this.statement.all(SqliteDriver.wellFormed(params))
    return rows.length === 0 ? [] : toRows(rows, this.columns())
  }
  first(params: ReadonlyArray<Bindable>): Row | undefined {
    const row = this.statement.get(SqliteDriver.wellFormed(params))
    return row === undefined ? undefined : toRow(row, this.columns())
  }
  values(params: ReadonlyArray<Bindable>): Array<Array<unknown>> {
    return readAll(this.statement.all(SqliteDriver.wellFormed(params)))
  }
  run(params: ReadonlyArray<Bindable>): SqliteDriver.Changes {
    const { changes, lastInsertRowid } = this.statement.run(SqliteDriver.wellFormed(params))
    const rowid = Number(lastInsertRowid)
    return { changes: Number(changes), lastInsertRowid: Number.isSafeInteger(rowid) ? rowid : lastInsertRowid }
  }
  iterate(params: ReadonlyArray<Bindable>): SqliteDriver.Cursor {
    const columns = this.columns()
    const rows = this.statement.iterate(SqliteDriver.wellFormed(params))
    return {
      next: (max) => {
        const found: Array<Array<unknown>> = []
        while (found.length < max) {
          const next = rows.next()
          if (next.done === true) break
          found.push(next.value)
        }
        return toRows(found, columns)
      },
      close: () => {
        rows.return?.()
      }
    }
  }
}

export const load = async (): Promise<SqliteDriver.Driver> => {
  // An optional peer: neither the package nor its types may be installed.
  const specifier: string = "better-sqlite3"
  const module = (await import(specifier)) as Module
  return {
    name: "better-sqlite3",
    closesWhole: true,
    open: ({ extensions, file, readonly }) => {
      const database = new module.default(file, { readonly, timeout: 0 })
      // Allows other writes on the connection while a stream is open.
      database.unsafeMode(true)
      for (const path of extensions) database.loadExtension(path)
      return {
        prepare: (sql, traits) => new Prepared(database.prepare(sql), traits?.hasStar === true),
        exec: (sql) => {
          database.exec(sql)
        },
        isInTransaction: () => database.inTransaction,
        close: () => {
          database.close()
        }
      }
    }
  }
}
