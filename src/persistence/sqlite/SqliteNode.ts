/**
 * The driver for `node:sqlite`.
 *
 * @private
 * @since 0.1.0
 */
import type * as SqliteDriver from "./SqliteDriver.js"
import { type Bindable, type Row, readAll, toRow, toRows } from "./SqliteValues.js"

interface Statement {
  readonly all: (...params: ReadonlyArray<Bindable>) => Array<Array<unknown>>
  readonly get: (...params: ReadonlyArray<Bindable>) => Array<unknown> | undefined
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
  readonly loadExtension: (path: string) => void
  readonly enableLoadExtension: (allow: boolean) => void
  readonly close: () => void
}

interface Module {
  readonly DatabaseSync: new (
    file: string,
    options: { readonly readOnly: boolean; readonly allowExtension: boolean }
  ) => Database
  readonly StatementSync: { readonly prototype: object }
}

const integer = (value: number | bigint): number | bigint =>
  typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value

class Prepared implements SqliteDriver.Prepared {
  readonly isReader: boolean
  private readonly statement: Statement
  private readonly traits: SqliteDriver.Traits | undefined
  private columns: ReadonlyArray<string>
  constructor(statement: Statement, traits: SqliteDriver.Traits | undefined) {
    statement.setReadBigInts(true)
    statement.setReturnArrays(true)
    this.statement = statement
    this.traits = traits
    this.columns = statement.columns().map(({ name }) => name)
    this.isReader = this.columns.length > 0
  }
  /**
   * Before Node 24, the first rows after a schema change have as many values as the old columns. Returns true if they
   * must be read again.
   */
  private isStale(): boolean {
    if (this.traits?.hasStar !== true) return false
    const found = this.statement.columns()
    if (found.length === this.columns.length && found.every(({ name }, at) => name === this.columns[at])) return false
    this.columns = found.map(({ name }) => name)
    return this.traits.isRead
  }
  private lists(params: ReadonlyArray<Bindable>): Array<Array<unknown>> {
    const rows = this.statement.all(...params)
    return rows.length > 0 && this.isStale() ? this.statement.all(...params) : rows
  }
  all(params: ReadonlyArray<Bindable>): Array<Row> {
    const rows = this.lists(params)
    return rows.length === 0 ? [] : toRows(rows, this.columns)
  }
  first(params: ReadonlyArray<Bindable>): Row | undefined {
    let row = this.statement.get(...params)
    if (row !== undefined && this.isStale()) row = this.statement.get(...params)
    return row === undefined ? undefined : toRow(row, this.columns)
  }
  values(params: ReadonlyArray<Bindable>): Array<Array<unknown>> {
    return readAll(this.lists(params))
  }
  run(params: ReadonlyArray<Bindable>): SqliteDriver.Changes {
    const { changes, lastInsertRowid } = this.statement.run(...params)
    return { changes: Number(changes), lastInsertRowid: integer(lastInsertRowid) }
  }
  iterate(params: ReadonlyArray<Bindable>): SqliteDriver.Cursor {
    let rows = this.statement.iterate(...params)
    let isFirst = true
    const take = (max: number): Array<Array<unknown>> => {
      const found: Array<Array<unknown>> = []
      while (found.length < max) {
        const next = rows.next()
        if (next.done === true) break
        found.push(next.value)
      }
      return found
    }
    return {
      next: (max) => {
        let found = take(max)
        if (isFirst && found.length > 0 && this.isStale()) {
          rows.return?.()
          rows = this.statement.iterate(...params)
          found = take(max)
        }
        isFirst = false
        return found.length === 0 ? [] : toRows(found, this.columns)
      },
      close: () => {
        rows.return?.()
      }
    }
  }
}

/** `undefined` if the version cannot return rows as lists: before Node 22.16. */
export const load = async (): Promise<SqliteDriver.Driver | undefined> => {
  // Node 20 has neither the module nor its types.
  const specifier: string = "node:sqlite"
  const module = (await import(specifier)) as Module
  if (!("setReturnArrays" in module.StatementSync.prototype)) return undefined
  return {
    name: "node:sqlite",
    closesWhole: true,
    open: ({ extensions, file, readonly }) => {
      const allowExtension = extensions.length > 0
      const database = new module.DatabaseSync(file, { readOnly: readonly, allowExtension })
      for (const path of extensions) database.loadExtension(path)
      // Prevents statements from loading others.
      if (allowExtension) database.enableLoadExtension(false)
      return {
        prepare: (sql, traits) => new Prepared(database.prepare(sql), traits),
        exec: (sql) => database.exec(sql),
        isInTransaction: () => database.isTransaction,
        close: () => database.close()
      }
    }
  }
}
