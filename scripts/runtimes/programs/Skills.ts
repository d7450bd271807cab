/** Built-in skills: one starts a process (a statement on a SQLite file), one a WebAssembly sandbox in a thread (code of a model). */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { CodeExecutionSkill, DatabaseQuerySkill } from "effect-lexigram/builtin"
import { SqliteClient } from "effect-lexigram/persistence"

const shop = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.zipRight(sql`CREATE TABLE orders AS SELECT 7 AS id`, sql`SELECT id FROM orders`)
).pipe(Effect.provide(SqliteClient.layer({ file: "shop.db" })))

const query = DatabaseQuerySkill.make({ sqlite: "shop.db" }).erased
const execute = CodeExecutionSkill.skill.erased

const call = ({ decode, handle }: typeof query, name: string, params: unknown) =>
  Effect.flatMap(decode(params), (decoded) =>
    handle(decoded, { id: "call-1", skillName: name, attempt: 1 }, () => Effect.dieMessage("It executes no skills"))
  )

const program = Effect.gen(function* () {
  yield* shop
  console.log(yield* call(query, "database_query", { sql: "SELECT id FROM orders" }))
  console.log(yield* call(execute, "code_execute", { code: "6 * 7" }))
})

await Effect.runPromise(program as Effect.Effect<void, unknown>)
