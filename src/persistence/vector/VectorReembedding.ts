/**
 * Embeds entries again after a change of the model, for an index opened with `onModelChange: "reembed"`.
 *
 * Entries are read page by page, and the new vectors are stored beside the old ones. Until all exist, a process with
 * the old model searches the old vectors and a process with the new model searches the new ones so far; then all old
 * vectors are removed at once. After a crash the work continues after the last finished page. Of several processes one
 * does the work and the others wait.
 *
 * A process that still runs with the old model gets a `MemoryStoreError` once its vectors are gone. Entries that it
 * stores in the last moment have no vector of the new model until they are stored again.
 *
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import { Embedder, type Service as EmbedderService, type EmbeddingError } from "../../llm/embedding/Embedder.js"
import type { MemoryBackend, Position } from "../../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import { MemoryStoreError, type MemoryStoreFailure, MemorySystemError } from "../../memory/entry/MemoryError.js"
import * as EntryVectors from "../../memory/search/EntryVectors.js"
import * as VectorIndex from "../../memory/search/VectorIndex.js"
import type { Access } from "../engine/Database.js"
import type { Dialect } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as VectorFilling from "./VectorFilling.js"
import * as VectorSpaces from "./VectorSpaces.js"

/**
 * @since 0.1.0
 * @category models
 */
export type ReembeddingFailure = MemoryStoreFailure | MemorySystemError | EmbeddingError

/**
 * The work done so far by this process.
 *
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  /** Entries that were checked. */
  readonly entries: number
  /** Entries that were embedded; the others had a vector already. */
  readonly embedded: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Backend of the store that the vectors belong to. */
  readonly source: Pick<MemoryBackend, "owners" | "page" | "get">
  /** Entries per call of the embedder. Default: 64. */
  readonly batchSize?: number | undefined
  /** Characters of an entry that are embedded; use the value of the store. Default: 8,000. */
  readonly maxCharacters?: number | undefined
  /** Called after each batch. */
  readonly onProgress?: ((progress: Progress) => Effect.Effect<void>) | undefined
}

/** Milliseconds until a process that does not renew its claim is considered dead. */
const LEASE = 120_000

/** Milliseconds between two checks of another process. */
const PATIENCE = 1_000

const PAGE = 256

/** The owner and the entry after which the work continues. */
interface Place {
  readonly owner: string
  readonly after?: Position | undefined
}

type Claim =
  | { readonly _tag: "Done" }
  | { readonly _tag: "Taken" }
  | { readonly _tag: "Mine"; readonly place: Place | undefined }

/** Another process has taken over the claim. */
class Lost {
  readonly _tag = "Lost"
}

const makeStatements = (dialect: Dialect, table: string) => ({
  look: dialect.sql(
    `SELECT active, position, claim, claimed_until FROM lex_vector_indexes WHERE id = ?${dialect.forUpdate}`
  ),
  take: dialect.sql("UPDATE lex_vector_indexes SET claim = ?, claimed_until = ? WHERE id = ?"),
  hold: dialect.sql("UPDATE lex_vector_indexes SET position = ?, claimed_until = ? WHERE id = ? AND claim = ?"),
  release: dialect.sql("UPDATE lex_vector_indexes SET claim = NULL, claimed_until = NULL WHERE id = ? AND claim = ?"),
  finish: dialect.sql(
    "UPDATE lex_vector_indexes SET active = 1, position = NULL, claim = NULL, claimed_until = NULL WHERE id = ? AND claim = ?"
  ),
  others: dialect.sql("SELECT id FROM lex_vector_indexes WHERE kind = ? AND name = ? AND id <> ? ORDER BY id"),
  missed: dialect.sql(
    `SELECT o.owner_id, o.id FROM ${table} o WHERE o.space_id = ? AND (o.owner_id, o.id) > (?, ?) AND NOT EXISTS (
       SELECT 1 FROM ${table} n WHERE n.space_id = ? AND n.owner_id = o.owner_id AND n.id = o.id
     ) ORDER BY o.owner_id, o.id LIMIT ${PAGE}`
  )
})

const make = Effect.fnUntraced(function* (
  { database, rows, space }: VectorFilling.Filling,
  index: VectorIndex.Service,
  embedder: EmbedderService,
  options: Options
) {
  const { source } = options
  const { dialect } = database
  const { id, kind, name, table } = space
  const size = Count.count(options.batchSize, 64, 1)
  const maxCharacters = Count.count(options.maxCharacters, EntryVectors.defaultMaxCharacters, 2)
  const me = yield* IdGenerator.generate
  const sql = makeStatements(dialect, table)
  const remove = VectorSpaces.remove(database, table)
  const progress = { entries: 0, embedded: 0 }

  const claim = rows.guarded(
    database.transaction(
      Effect.fnUntraced(function* (tx): Effect.fn.Return<Claim, SqlError | MemoryStoreError> {
        const row = yield* tx.first(sql.look, [id])
        const now = yield* Clock.currentTimeMillis
        if (row === undefined || Number(row.active) === 1) return { _tag: "Done" }
        if (row.claim !== null && row.claim !== me && Number(row.claimed_until) > now) return { _tag: "Taken" }
        yield* tx.run(sql.take, [me, now + LEASE, id])
        return { _tag: "Mine", place: row.position === null ? undefined : JSON.parse(row.position) }
      })
    )
  )

  const held = (tx: Access, place: Place | undefined): Effect.Effect<void, SqlError | Lost> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.flatMap(
        tx.run(sql.hold, [place === undefined ? null : JSON.stringify(place), now + LEASE, id, me]),
        (count) => (count === 1 ? Effect.void : Effect.fail(new Lost()))
      )
    )

  /** Stores the missing vectors of entries and the place reached. */
  const fill = Effect.fnUntraced(function* (
    ownerId: string,
    entries: ReadonlyArray<MemoryEntry>,
    place: Place | undefined
  ) {
    const known = yield* index.known(
      ownerId,
      entries.map((entry) => entry.id)
    )
    const missing = entries.filter((entry) => !known.has(entry.id))
    const vectors = yield* embedder.embedMany(
      missing.map(({ content }) => EntryVectors.truncate(content, maxCharacters))
    )
    if (vectors.length !== missing.length) {
      return yield* new MemoryStoreError({
        store: index.name,
        message: "The embedder returned a different number of vectors than texts"
      })
    }
    const items = missing.map((entry, at) =>
      EntryVectors.itemOf(entry, vectors[at] as VectorIndex.VectorItem["vector"])
    )
    yield* rows.guarded(
      database.transaction((tx) =>
        Effect.zipRight(held(tx, place), items.length === 0 ? Effect.void : rows.fill(tx, ownerId, items))
      )
    )
    // A delete of an entry removes its vector afterwards, but misses one that is stored after that.
    const ids = missing.map((entry) => entry.id)
    const there = new Set((yield* source.get(ownerId, ids)).map((entry) => entry.id))
    const gone = ids.filter((one) => !there.has(one))
    if (gone.length > 0) yield* index.delete(ownerId, gone)
    progress.entries += entries.length
    progress.embedded += items.length - gone.length
    if (options.onProgress !== undefined) yield* options.onProgress({ ...progress })
  })

  const owner = Effect.fnUntraced(function* (ownerId: string, from: Position | undefined) {
    let after = from
    for (;;) {
      const entries = yield* source.page(ownerId, { limit: size, selection: {}, after })
      const last = entries[entries.length - 1]
      if (last === undefined) return
      after = { timestamp: last.timestamp, id: last.id }
      yield* fill(ownerId, entries, { owner: ownerId, after })
    }
  })

  const owners = Effect.fnUntraced(function* (place: Place | undefined) {
    if (place !== undefined) yield* owner(place.owner, place.after)
    let after = place?.owner
    for (;;) {
      const page = yield* source.owners({ limit: PAGE, after })
      for (const ownerId of page) yield* owner(ownerId, undefined)
      after = page[page.length - 1]
      if (page.length < PAGE) return after
    }
  })

  /** Entries that others stored with the old model after this process had passed them. */
  const missed = Effect.fnUntraced(function* (old: number, place: Place | undefined) {
    let after: readonly [string, string] = ["", ""]
    for (;;) {
      const found = yield* rows.guarded(database.rows(sql.missed, [old, ...after, id]))
      const last = found[found.length - 1]
      if (last === undefined) return
      after = [last.owner_id, last.id]
      for (const ownerId of new Set(found.map((row) => row.owner_id as string))) {
        const ids = found.flatMap((row) => (row.owner_id === ownerId ? [KeyText.decode(row.id) as EntryId] : []))
        for (let at = 0; at < ids.length; at += size) {
          const decoded = KeyText.decode(ownerId)
          const entries = yield* source.get(decoded, ids.slice(at, at + size))
          if (entries.length > 0) yield* fill(decoded, entries, place)
        }
      }
    }
  })

  const work = Effect.fnUntraced(function* (from: Place | undefined) {
    const last = yield* owners(from)
    const place = last === undefined ? undefined : { owner: last }
    const others = (yield* rows.guarded(database.rows(sql.others, [kind, KeyText.encode(name), id]))).map((row) =>
      Number(row.id)
    )
    for (const other of others) yield* missed(other, place)
    yield* rows.guarded(
      database.transaction((tx) =>
        Effect.gen(function* () {
          for (const other of others) yield* remove(tx, other)
          if ((yield* tx.run(sql.finish, [id, me])) === 0) return yield* Effect.fail(new Lost())
        })
      )
    )
  })

  const turn: Effect.Effect<Progress, ReembeddingFailure> = Effect.flatMap(claim, (claimed) => {
    switch (claimed._tag) {
      case "Done":
        return Effect.as(rows.health, { ...progress })
      case "Taken":
        return Effect.zipRight(Effect.sleep(PATIENCE), turn)
      case "Mine":
        return work(claimed.place).pipe(
          Effect.onError(() => Effect.ignore(rows.guarded(database.run(sql.release, [id, me])))),
          Effect.as(progress),
          Effect.catchTag("Lost", () => turn)
        )
    }
  })
  return yield* turn
})

/**
 * Stores the missing vectors and then removes the old ones. Does nothing if the index already holds the vectors of the
 * embedder, and waits if another process does the work. Fails with the errors of the source, the embedder and the
 * database; the next run continues from there.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { HashingEmbedder } from "effect-lexigram/llm"
 * import { SqliteClient, SqlMemoryStore, SqlVectorIndex, VectorReembedding } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 *
 * // The entries get vectors of the new model, of 1,024 dimensions.
 * const program = Effect.gen(function* () {
 *   const source = yield* SqlMemoryStore.makeBackend()
 *   const { embedded } = yield* VectorReembedding.run({ source, batchSize: 100 })
 *   yield* Effect.log(`${embedded} entries were embedded`)
 * }).pipe(
 *   Effect.provide(SqlVectorIndex.layerMigrated({ onModelChange: "reembed" })),
 *   Effect.provide([HashingEmbedder.layer({ dimensions: 1_024 }), SqliteClient.layer({ file: "agents.db" })])
 * )
 * ```
 */
export const run = (
  options: Options
): Effect.Effect<Progress, ReembeddingFailure, Embedder | VectorIndex.VectorIndex> =>
  Effect.gen(function* () {
    const embedder = yield* Embedder
    const index = yield* VectorIndex.VectorIndex
    yield* VectorIndex.check(embedder, index)
    const filling = VectorFilling.of(index)
    if (filling === undefined) {
      return yield* new MemorySystemError({
        message: `The index ${index.name} is not in a database, so its entries cannot be embedded again`,
        hint: "Use PgVectorIndex, SqliteVectorIndex or SqlVectorIndex"
      })
    }
    return yield* make(filling, index, embedder, options)
  })

/** Starts at a second and doubles up to a minute. */
const again = Schedule.union(Schedule.exponential("1 second"), Schedule.spaced("1 minute"))

/**
 * Runs in the background as long as the layer lives. Failures are logged and retried.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<never, never, Embedder | VectorIndex.VectorIndex> =>
  Layer.scopedDiscard(
    Effect.forkScoped(
      run(options).pipe(
        Effect.tapError((error) =>
          Effect.annotateLogs(Effect.logWarning("Entries could not be embedded again"), {
            module: "effect-lexigram/persistence/VectorReembedding",
            error: error._tag
          })
        ),
        Effect.retry({ schedule: again, while: (error) => error._tag !== "MemorySystemError" }),
        Effect.ignore
      )
    )
  )
