/**
 * SQLite by `node:sqlite`.
 *
 * @internal
 * @since 0.1.0
 */
import type * as SqliteDriver from "./SqliteDriver.js"
import { type Bindable, type Row, readAll, toRows } from "./SqliteValues.js"

interface Statement {
  readonly all: (...params: ReadonlyArray<Bindable>) => Array<Array<unknown>>
  readonly run: (...params: ReadonlyArray<Bindable>) => {
    readonly changes: number | bigint
    readonly lastInsertRowid: number | bigint
  }
  readonly iterate: (...params: ReadonlyArray<Bindable>) => Iterator<Array<unknown>>
  readonly columns: () => ReadonlyArray<{ readonly name: string }>
  readonly setReadBigInts: (enabled: boolean) => void
  readonly setReturnArrays: (enabled: boolean) => void
}

interface Database {
  readonly prepare: (sql: string) => Statement
  readonly exec: (sql: string) => void
  readonly isTransaction: boolean
  readonly close: () => void
}

interface Module {
  readonly DatabaseSync: new (file: string, options: { readonly readOnly: boolean }) => Database
  readonly StatementSync: { readonly prototype: object }
}

const integer = (value: number | bigint): number | bigint =>
  typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value

class Prepared implements SqliteDriver.Prepared {
  readonly isReader: boolean
  private readonly statement: Statement
  private readonly names: ReadonlyArray<string>
  private readonly hasStar: boolean
  constructor(statement: Statement, hasStar: boolean) {
    statement.setReadBigInts(true)
    statement.setReturnArrays(true)
    this.statement = statement
    this.hasStar = hasStar
    this.names = statement.columns().map(({ name }) => name)
    this.isReader = this.names.length > 0
  }
  private columns(): ReadonlyArray<string> {
    return this.hasStar ? this.statement.columns().map(({ name }) => name) : this.names
  }
  all(params: ReadonlyArray<Bindable>): Array<Row> {
    const rows = this.statement.all(...params)
    return rows.length === 0 ? [] : toRows(rows, this.columns())
  }
  values(params: ReadonlyArray<Bindable>): Array<Array<unknown>> {
    return readAll(this.statement.all(...params))
  }
  run(params: ReadonlyArray<Bindable>): SqliteDriver.Changes {
    const { changes, lastInsertRowid } = this.statement.run(...params)
    return { changes: Number(changes), lastInsertRowid: integer(lastInsertRowid) }
  }
  iterate(params: ReadonlyArray<Bindable>): SqliteDriver.Cursor {
    const rows = this.statement.iterate(...params)
    return {
      next: (max) => {
        const found: Array<Array<unknown>> = []
        while (found.length < max) {
          const next = rows.next()
          if (next.done === true) break
          found.push(next.value)
        }
        return found.length === 0 ? [] : toRows(found, this.columns())
      },
      close: () => {
        rows.return?.()
      }
    }
  }
}

/** `undefined` where it cannot give rows as lists: before Node 22.16. */
export const load = async (): Promise<SqliteDriver.Driver | undefined> => {
  // Node 20 has no such module, nor its types.
  const specifier: string = "node:sqlite"
  const module = (await import(specifier)) as Module
  if (!("setReturnArrays" in module.StatementSync.prototype)) return undefined
  return {
    name: "node:sqlite",
    closesWhole: true,
    open: ({ file, readonly }) => {
      const database = new module.DatabaseSync(file, { readOnly: readonly })
      return {
        prepare: (sql, hasStar) => new Prepared(database.prepare(sql), hasStar),
        exec: (sql) => database.exec(sql),
        isInTransaction: () => database.isTransaction,
        close: () => database.close()
      }
    }
  }
}
