/**
 * A backend of facts whose searches by words also find what is near in meaning.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import type { Service as Embedder, Vector } from "../../llm/embedding/Embedder.js"
import { type MemoryStoreFailure, StorageError } from "../entry/MemoryError.js"
import * as OwnerNamespace from "../entry/OwnerNamespace.js"
import * as Scoring from "../entry/Scoring.js"
import type { FactId } from "../facts/Fact.js"
import * as FactBackend from "../facts/FactBackend.js"
import * as EntryVectors from "../search/EntryVectors.js"
import type { VectorHit, Service as VectorIndex } from "../search/VectorIndex.js"

/**
 * @category models
 */
export interface Options {
  readonly embedder: Embedder
  /** Has the vectors, in a space of its own for each owner. It may be the one of entries. */
  readonly index: VectorIndex
  /** Facts that one search finds by meaning at most. Default 10, at least 1. */
  readonly maxFound?: number | undefined
}

type Row = FactBackend.FactRow
type Backend = FactBackend.FactBackend

/** Facts without vectors that one search embeds. */
const PAGE = 256
/** Nearest vectors of which those are taken whose facts are selected. */
const POOL = 64
/** Milliseconds that storing facts, or a search, waits for their vectors. */
const PATIENCE = 5_000
/** Milliseconds until another search tries to embed facts after a failure. */
const PAUSE = 60_000
/** Owners whose progress is known. */
const MAX_OWNERS = 10_000
const MAX_CHARS = 2_000

/** A text without any near one has this similarity at most, whatever the model. */
const FAINT = 0.15
/** The vector at this rank is background: what is found by accident. */
const BACKGROUND = 17
/** The share of the best, measured from the background, below which a fact is not near. */
const SHARE = 0.5

/** How far the facts of an owner have vectors. Done without a place. */
interface Progress {
  readonly after: FactBackend.FactPosition | undefined
  readonly isDone: boolean
  readonly notBefore: number
}

const begun: Progress = { after: undefined, isDone: false, notBefore: 0 }

const warn = (message: string, error: { readonly _tag: string }): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(message), { module: "FactVectors", error: error._tag })

/** Ids of facts and of entries have the same form. */
const idOf = (id: FactId): EntryId => id as string as EntryId

const holds = ({ validTo }: Row, now: number): boolean => validTo === undefined || validTo > now

/** Those that stand out from the background. */
const near = (hits: ReadonlyArray<VectorHit>): ReadonlyArray<VectorHit> => {
  const best = hits[0]?.similarity ?? 0
  if (best < FAINT) return []
  const background = Math.max(0, hits[BACKGROUND - 1]?.similarity ?? 0)
  return hits.filter(({ similarity }) => similarity - background >= SHARE * (best - background))
}

interface Scored {
  readonly row: Row
  readonly score: number
}

/** Both rankings as one; of equal facts the one that shares words comes first. */
const fuse = (byWords: ReadonlyArray<Scored>, byMeaning: ReadonlyArray<Row>, limit: number): ReadonlyArray<Scored> => {
  if (byMeaning.length === 0) return byWords
  const scores = new Map<FactId, { readonly row: Row; score: number }>()
  for (const rows of [byWords.map(({ row }) => row), byMeaning]) {
    for (const [rank, row] of rows.entries()) {
      const share = 1 / (Scoring.fusionConstant + rank + 1)
      const known = scores.get(row.id)
      if (known === undefined) scores.set(row.id, { row, score: share })
      else known.score += share
    }
  }
  return [...scores.values()].sort((a, b) => b.score - a.score).slice(0, limit)
}

/** The vectors of the facts of a backend. */
const makeVectors = (backend: Backend, { embedder, index }: Options) => {
  const progress = new Map<string, Progress>()
  const lock = KeyedLock.make()

  const advance = (ownerId: string, to: Progress): void => {
    progress.delete(ownerId)
    progress.set(ownerId, to)
    if (progress.size > MAX_OWNERS) progress.delete(progress.keys().next().value as string)
  }

  /** Embeds rows that have no vector, and takes back the vectors of those that were deleted meanwhile. */
  const embed = Effect.fnUntraced(function* (ownerId: string, rows: ReadonlyArray<Row>) {
    if (rows.length === 0) return
    const space = OwnerNamespace.facts(ownerId)
    const known = yield* index.known(
      space,
      rows.map(({ id }) => idOf(id))
    )
    // An end that has changed is known by its vector.
    const missing = rows.filter(({ id, validTo }) => validTo !== undefined || !known.has(idOf(id)))
    if (missing.length === 0) return
    const vectors = yield* embedder.embedMany(missing.map(({ text }) => EntryVectors.truncate(text, MAX_CHARS)))
    const items = missing.flatMap(({ id, validFrom, validTo }, at) => {
      const vector: Vector | undefined = vectors[at]
      return vector === undefined
        ? []
        : [{ id: idOf(id), vector, timestamp: validFrom, role: "user" as const, metadata: {}, expiresAt: validTo }]
    })
    yield* index.upsert(space, items)
    const there = new Set(
      (yield* backend.get(
        ownerId,
        missing.map(({ id }) => id)
      )).map(({ id }) => id)
    )
    const gone = missing.filter(({ id }) => !there.has(id)).map(({ id }) => idOf(id))
    if (gone.length > 0) yield* index.delete(space, gone)
  })

  const limited = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | StorageError> =>
    Deadline.run(() => effect, {
      whole: PATIENCE,
      onTimeout: () => new StorageError({ message: "The vectors of facts took too long" })
    })

  /** Keeps the vectors in step with a change that was made. Those that cannot be made are left to searches. */
  const keep = (ownerId: string, put: ReadonlyArray<Row>, deleted: ReadonlyArray<FactId>): Effect.Effect<void> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const removed = new Set<string>(deleted)
      const stays = (row: Row): boolean => holds(row, now) && !removed.has(row.id)
      const gone = [...new Set([...deleted, ...put.filter((row) => !stays(row)).map(({ id }) => id)])].map(idOf)
      if (gone.length > 0) yield* index.delete(OwnerNamespace.facts(ownerId), gone)
      yield* embed(ownerId, put.filter(stays))
    }).pipe(
      limited,
      Effect.catchAll((error) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          advance(ownerId, { ...begun, notBefore: now + PAUSE })
          return warn("Facts were stored without their vectors", error)
        })
      ),
      Effect.onInterrupt(() => Effect.sync(() => advance(ownerId, begun)))
    )

  /** Embeds the next facts of the owner that have no vector. */
  const complete = (ownerId: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (progress.get(ownerId)?.isDone === true) return Effect.void
      return lock.withLock(ownerId)(
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const { after, isDone, notBefore } = progress.get(ownerId) ?? begun
          if (isDone || now < notBefore) return
          const selection = { minConfidence: 0, at: now, includeClosed: false }
          const step = Effect.gen(function* () {
            const rows = yield* backend.find(ownerId, { selection, limit: PAGE, after })
            yield* embed(ownerId, rows)
            return { after: rows.at(-1), isDone: rows.length < PAGE, notBefore: 0 }
          })
          advance(
            ownerId,
            yield* Effect.catchAll(limited(step), (error) =>
              Effect.as(warn("Facts without vectors could not be embedded", error), {
                after,
                isDone: false,
                notBefore: now + PAUSE
              })
            )
          )
        })
      )
    })

  const nearest = (ownerId: string, text: string): Effect.Effect<ReadonlyArray<VectorHit>> =>
    Effect.flatMap(embedder.embed(EntryVectors.truncate(text, MAX_CHARS)), (vector) =>
      index.search(OwnerNamespace.facts(ownerId), vector, { limit: POOL })
    ).pipe(
      limited,
      Effect.map(near),
      Effect.catchAll((error) => Effect.as(warn("Facts are found by words only", error), []))
    )

  const clear = (ownerId: string): Effect.Effect<void, MemoryStoreFailure> => {
    progress.delete(ownerId)
    return index.clear(OwnerNamespace.facts(ownerId))
  }

  /** Removes the vectors of facts that another process deleted. */
  const forget = (ownerId: string, ids: ReadonlyArray<EntryId>): Effect.Effect<void> =>
    ids.length === 0 ? Effect.void : Effect.ignore(limited(index.delete(OwnerNamespace.facts(ownerId), ids)))

  return { keep, complete, nearest, forget, clear }
}

/**
 * @category constructors
 */
export const wrap =
  (options: Options): FactBackend.Wrap =>
  (backend) => {
    const vectors = makeVectors(backend, options)
    const most = Count.count(options.maxFound, 10, 1)

    const byMeaning = Effect.fnUntraced(function* (
      ownerId: string,
      text: string,
      selection: FactBackend.RowSelection
    ): Effect.fn.Return<ReadonlyArray<Row>, MemoryStoreFailure> {
      if (text.trim() === "") return []
      yield* vectors.complete(ownerId)
      const hits = yield* vectors.nearest(ownerId, text)
      if (hits.length === 0) return []
      const rows = yield* backend.get(
        ownerId,
        hits.map(({ id }) => id as string as FactId)
      )
      const there = new Set<string>(rows.map(({ id }) => id))
      yield* vectors.forget(
        ownerId,
        hits.flatMap(({ id }) => (there.has(id) ? [] : [id]))
      )
      return rows.filter(FactBackend.predicate(selection)).slice(0, most)
    })

    const byBoth = (ownerId: string, query: Parameters<Backend["lexical"]>[1]) =>
      Parallel.zip(backend.lexical(ownerId, query), byMeaning(ownerId, query.text, query.selection))

    return {
      ...backend,
      apply: (ownerId, revision, change) =>
        Effect.tap(backend.apply(ownerId, revision, change), (trimmed) =>
          Option.isNone(trimmed)
            ? Effect.void
            : vectors.keep(ownerId, change.put ?? [], [...(change.delete ?? []), ...trimmed.value])
        ),
      clear: (ownerId) => Effect.zipLeft(backend.clear(ownerId), vectors.clear(ownerId)),
      lexical: (ownerId, query) =>
        Effect.map(byBoth(ownerId, query), ([words, meaning]) => fuse(words, meaning, query.limit))
    }
  }
