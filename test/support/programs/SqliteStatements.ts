/**
 * Runs many different statements with a small statement cache, and reports how many remain after garbage collection.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Effect from "effect/Effect"
import Database from "libsql"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly statements: number
  readonly statementCache: number
}

export interface Said {
  readonly prepared: number
  readonly alive: number
}

setFlagsFromString("--expose_gc")
const collect: () => void = runInNewContext("gc")

const statements: Array<WeakRef<object>> = []
const { prepare } = Database.prototype
Database.prototype.prepare = function (this: Database.Database, ...args: Parameters<typeof prepare>) {
  const statement = prepare.apply(this, args)
  statements.push(new WeakRef(statement as unknown as object))
  return statement
} as typeof prepare

const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

Programs.main<Input>(({ input, say }) =>
  Effect.gen(function* () {
    const sql = yield* SqliteClient.make({ file: ":memory:", driver: "libsql", statementCache: input.statementCache })
    for (let n = 0; n < input.statements; n++) yield* sql.connection.execute(`SELECT ${n} AS n`, [], undefined)
    for (let round = 0; round < 5; round++) {
      yield* turn
      collect()
    }
    const alive = statements.filter((statement) => statement.deref() !== undefined).length
    yield* say({ prepared: statements.length, alive } satisfies Said)
  }).pipe(Effect.scoped)
)
