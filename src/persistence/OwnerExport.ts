/**
 * Exports the data of an owner as lines.
 *
 * @private
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { UserId } from "../domain/Ids.js"
import * as RunBlobs from "../durable/payload/RunBlobs.js"
import type * as Database from "./engine/Database.js"
import type { Param } from "./engine/Dialect.js"
import type { DataTransferError } from "./engine/PersistenceError.js"
import type { Names } from "./OwnedConditions.js"
import type * as OwnedTables from "./OwnedTables.js"
import type * as OwnerData from "./OwnerData.js"
import { encodeEntry, FORMAT, toCell } from "./OwnerLines.js"
import { because, blobsElsewhere, failed, isHere, nameOf, PAGE, type Parts, type Tables } from "./OwnerStores.js"
import * as Migrations from "./schema/Migrations.js"

const elsewhere = (part: string, name: string): DataTransferError =>
  failed(
    part,
    `It is kept in ${name}, but only data in the database can be exported or imported`,
    "Keep it in the database"
  )

/**
 * Fails unless the database keeps the sessions and the memory of the system.
 *
 * @category guards
 */
export const checkPlaces = (parts: Parts): Effect.Effect<void, DataTransferError> => {
  if (!isHere(parts, parts.sessions)) return Effect.fail(elsewhere("sessions", parts.sessions.name))
  return isHere(parts, parts.memory) ? Effect.void : Effect.fail(elsewhere("memory", parts.memory.name))
}

/** Where the first page begins. */
const noPlace = undefined as ReadonlyArray<Param> | undefined

/**
 * @category constructors
 */
export const make = (parts: Parts, tables: Tables): OwnerData.Service["export"] => {
  const { database, memory } = parts

  const rowsOf = (table: OwnedTables.OwnedTable, names: Names): Stream.Stream<string, DataTransferError> => {
    const { first, next } = tables.statementsOf(table)
    const given = table.owned.params(names)
    const lineOf = (row: Database.Row): string =>
      JSON.stringify({ table: table.table, row: table.columns.map((column) => toCell(row[column])) })
    return Stream.paginateChunkEffect(noPlace, (after) =>
      Effect.map(
        Effect.mapError(
          database.rows(after === undefined ? first : next, [...given, ...(after ?? [])]),
          because(table.part, "Reading")
        ),
        (rows) => {
          const page = table.page ?? PAGE
          const last = rows.length < page ? undefined : rows[page - 1]
          const place = last === undefined ? undefined : table.key.map((_, i) => last[`key_${i}`] as Param)
          return [Chunk.unsafeFromArray(rows.map(lineOf)), Option.fromNullable(place)] as const
        }
      )
    )
  }

  const entriesOf = (ownerId: string): Stream.Stream<string, DataTransferError> =>
    memory.stream(ownerId).pipe(
      Stream.map((entry) => JSON.stringify({ entry: encodeEntry(entry) })),
      Stream.mapError(because("memory", "Reading"))
    )

  const elsewhere = blobsElsewhere(parts)

  /** The blobs of a user outside of the database, one at a time. */
  const blobsOf = (owner: UserId): Stream.Stream<string, DataTransferError> => {
    if (Option.isNone(elsewhere)) return Stream.empty
    const blobs = elsewhere.value
    return blobs.list({ owner }).pipe(
      // What a durable run has recorded is not exported.
      Stream.filter(({ scope }) => !RunBlobs.isScope(scope)),
      Stream.mapEffect(({ ref: { hash, mediaType }, scope }) =>
        Effect.map(blobs.get({ owner, scope, hash }), (bytes) =>
          Option.some(
            JSON.stringify({ blob: { scope, hash, mediaType, base64: Buffer.from(bytes).toString("base64") } })
          )
        ).pipe(
          // Removed since it was listed.
          Effect.catchTag("BlobNotFoundError", () => Effect.succeedNone)
        )
      ),
      Stream.filterMap((line) => line),
      Stream.mapError(because("blobs", "Reading"))
    )
  }

  return (subject) =>
    Stream.unwrap(
      Effect.gen(function* () {
        yield* checkPlaces(parts)
        const names = yield* Effect.mapError(tables.namesOf(nameOf(subject)), because("sessions", "Reading"))
        const whose =
          typeof subject === "string" ? { userId: subject } : { namespace: { scope: subject.scope, id: subject.id } }
        const head = { format: FORMAT, version: 1, tables: Migrations.version, ...whose }
        const at = yield* Clock.currentTimeMillis
        let lines = 0
        const body = Stream.fromIterable(tables.exported.values()).pipe(
          Stream.flatMap((table) => rowsOf(table, names)),
          Stream.concat(Stream.flatMap(Stream.fromIterable(names.owners), entriesOf)),
          Stream.concat(typeof subject === "string" ? blobsOf(subject) : Stream.empty),
          Stream.tap(() => Effect.sync(() => lines++))
        )
        return Stream.make(JSON.stringify({ ...head, at })).pipe(
          Stream.concat(body),
          Stream.concat(Stream.suspend(() => Stream.make(JSON.stringify({ end: lines }))))
        )
      })
    )
}
