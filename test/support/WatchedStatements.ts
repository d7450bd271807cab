/** Tells the statements that stores send to their database, and how many commits they make. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Leases from "../../src/persistence/engine/Leases.js"

export interface Statements {
  readonly texts: ReadonlyArray<string>
  /** Transactions, and statements that write by themselves. */
  readonly commits: number
}

const methods = ["execute", "first", "executeRaw", "executeUnprepared"] as const

type Method = (sql: string, ...rest: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>

const writes = /^\s*(?:WITH[\s\S]*?\)\s*)?(?:INSERT|UPDATE|DELETE)/i

/** Watches a client of the library. Returns how to take the statements since the last time. */
export const watch = (client: SqlClient.SqlClient): (() => Statements) => {
  const watched = new WeakSet<object>()
  let texts: Array<string> = []
  let commits = 0
  const tell = (connection: object, isLeased: boolean): void => {
    if (watched.has(connection)) return
    watched.add(connection)
    const own = connection as { [K in (typeof methods)[number]]?: Method }
    for (const name of methods) {
      const method = own[name]
      if (method === undefined) continue
      own[name] = (sql, ...rest) =>
        Effect.suspend(() => {
          texts.push(sql)
          if (isLeased ? sql === "COMMIT" : writes.test(sql)) commits++
          return method.call(connection, sql, ...rest)
        })
    }
  }
  const { connection } = client as { readonly connection?: object }
  const lender = Leases.lenderOf(client)
  if (connection === undefined || lender === undefined) throw new Error("this client cannot be watched")
  tell(connection, false)
  Object.assign(lender, {
    lease: (
      (lease) => (restore: Parameters<typeof lease>[0]) =>
        Effect.tap(lease.call(lender, restore), (leased) => Effect.sync(() => tell(leased, true)))
    )(lender.lease)
  })
  return () => {
    const taken = { texts, commits }
    texts = []
    commits = 0
    return taken
  }
}
