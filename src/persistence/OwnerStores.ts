/**
 * The stores and tables that hold the data of an owner, and the statements on them.
 *
 * @private
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as BlobStore from "../content/BlobStore.js"
import type { UserId } from "../domain/Ids.js"
import type * as CostLedger from "../governance/store/CostLedger.js"
import type { MemoryBackend } from "../memory/entry/MemoryBackend.js"
import * as OwnerNamespace from "../memory/entry/OwnerNamespace.js"
import type * as FactStore from "../memory/facts/FactStore.js"
import type * as MemoryStore from "../memory/search/MemoryStore.js"
import * as MemoryNamespace from "../memory/tools/MemoryNamespace.js"
import * as SessionMemory from "../session/manager/SessionMemory.js"
import type * as SessionStore from "../session/turn/SessionStore.js"
import * as Database from "./engine/Database.js"
import type { Dialect } from "./engine/Dialect.js"
import * as IndexKey from "./engine/IndexKey.js"
import { DataTransferError } from "./engine/PersistenceError.js"
import * as SqlFailure from "./engine/SqlFailure.js"
import type { Names } from "./OwnedConditions.js"
import * as OwnedNames from "./OwnedNames.js"
import * as OwnedTables from "./OwnedTables.js"
import type { EraseOptions, Subject } from "./OwnerData.js"
import type { RedisClient } from "./redis/RedisClient.js"

/**
 * Rows and sessions that are read at once, and rows that are written by one statement.
 *
 * @category constants
 */
export const PAGE = 200

/**
 * @category errors
 */
export const failed = (part: string, message: string, hint?: string): DataTransferError =>
  new DataTransferError({ part, message, ...(hint === undefined ? {} : { hint }) })

/**
 * Converts the error of any port. Messages of ports contain no user data.
 *
 * @category errors
 */
export const because =
  (part: string, doing: string) =>
  (error: { readonly message: string }): DataTransferError => {
    const message = error instanceof SqlError ? SqlFailure.describe(error).message : error.message
    return failed(part, `${doing} failed: ${message}`, "Resolve the cause and try again")
  }

/**
 * The name under which the data of a subject is found. No user has the name of a namespace, so that nothing but its
 * memory is found under it.
 *
 * @category getters
 */
export const nameOf = (subject: Subject): UserId =>
  typeof subject === "string" ? subject : (MemoryNamespace.ownerOf(subject) as UserId)

/**
 * Owners of the memory of a user or a namespace.
 *
 * @category getters
 */
export const ownersOf = (userId: UserId): ReadonlyArray<string> => {
  const owner = SessionMemory.ownerOf({ userId }) as string
  const { blocks, documents, facts, procedures } = OwnerNamespace
  return [owner, ...[procedures, blocks, facts, documents].map((of) => of(owner))]
}

/**
 * Adds to the count of a part.
 *
 * @category counting
 */
export const add = (counts: Map<string, number>, part: string, more: number): void => {
  if (more > 0) counts.set(part, (counts.get(part) ?? 0) + more)
}

/**
 * @category models
 */
export interface Parts {
  readonly client: SqlClient.SqlClient
  readonly database: Database.Database
  readonly memory: MemoryStore.Service
  readonly facts: FactStore.Service
  readonly sessions: SessionStore.Service
  /** The stores in the database, even if the system uses others now. */
  readonly kept: {
    readonly sessions: SessionStore.Service
    readonly memory: MemoryBackend
    readonly ledger: CostLedger.Service
  }
  readonly redis: Option.Option<RedisClient["Type"]>
  readonly blobs: Option.Option<BlobStore.Service>
}

/**
 * Whether a store keeps its data in the database.
 *
 * @category guards
 */
export const isHere = ({ database }: Parts, { name }: { readonly name: string }): boolean =>
  name === database.dialect.name

/**
 * The store of blobs, if it keeps them outside of the database.
 *
 * @category getters
 */
export const blobsElsewhere = (parts: Parts): Option.Option<BlobStore.Service> =>
  Option.filter(parts.blobs, (blobs) => !isHere(parts, blobs))

const makeStatements = (dialect: Dialect, owned: OwnedTables.OwnedTable) => {
  const { columns, fixed, key, owned: condition, table } = owned
  const names = [...key.map((column, i) => `${column} AS key_${i}`), ...columns].join(", ")
  const place = `(${key.join(", ")}) > (${key.map(() => "?").join(", ")})`
  const page = (where: string) =>
    dialect.sql(
      `SELECT ${names} FROM ${table} WHERE ${condition.text}${where} ORDER BY ${key.join(", ")} LIMIT ${owned.page ?? PAGE}`
    )
  return {
    first: page(""),
    next: page(` AND ${place}`),
    count: dialect.sql(`SELECT COUNT(*) AS count FROM ${table} WHERE ${condition.text}`),
    // A run of the system in a session of the user belongs to no other user.
    own: dialect.sql(
      `SELECT COUNT(*) AS count FROM ${table}
            WHERE ${condition.text} AND (user_id IS NULL OR user_id IN (?, '${IndexKey.everybody}'))`
    ),
    erase: dialect.sql(`DELETE FROM ${table} WHERE ${condition.text}`),
    insert: Database.insertInto(table, [...columns, ...(fixed ?? []).map(([column]) => column)])
  }
}

/**
 * The tables with rows of owners.
 *
 * @category models
 */
export interface Tables {
  readonly all: ReadonlyArray<OwnedTables.OwnedTable>
  /** The tables that are exported, by name. */
  readonly exported: ReadonlyMap<string, OwnedTables.OwnedTable>
  readonly statementsOf: (table: OwnedTables.OwnedTable) => ReturnType<typeof makeStatements>
  /** The names under which data belongs to the user. */
  readonly namesOf: (userId: UserId, options?: EraseOptions) => Effect.Effect<Names, SqlError>
}

/**
 * @category constructors
 */
export const makeTables = (database: Database.Database): Tables => {
  const { dialect } = database
  const all = OwnedTables.make(dialect)
  const statements = new Map(all.map((table) => [table, makeStatements(dialect, table)]))
  const sessionsOf = OwnedNames.sessionsOf(dialect)
  const runsOf = OwnedNames.runsOf(dialect)
  const executionsOf = OwnedNames.executionsOf(dialect)
  const threadsOf = OwnedNames.threadsOf(dialect)
  return {
    all,
    exported: new Map(all.filter(({ columns }) => columns.length > 0).map((table) => [table.table, table])),
    statementsOf: (table) => statements.get(table) as ReturnType<typeof makeStatements>,
    namesOf: Effect.fnUntraced(function* (userId: UserId, options?: EraseOptions) {
      const ids = yield* sessionsOf(database, userId)
      const runs = yield* runsOf(database, userId, ids)
      const threads = yield* threadsOf(database, userId, options?.threads ?? [])
      const executions = yield* executionsOf(database, userId, ids, runs)
      return { user: userId, owners: ownersOf(userId), sessions: ids, runs, executions, threads }
    })
  }
}
