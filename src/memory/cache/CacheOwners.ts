/**
 * Lists the owners of a cache in ascending chunks, so that adding an owner or reading a page costs the same for any
 * number of owners.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Permits from "../../internal/fiber/Permits.js"
import type { StorageError } from "../entry/MemoryError.js"
import type { Access } from "./CacheAccess.js"
import * as Records from "./CacheRecords.js"

const MAX_NAMES = 128

type Chunk = readonly [from: string, key: string]

/**
 * @since 0.1.0
 * @category models
 */
export interface CacheOwners {
  /** Does nothing if the name is listed. */
  readonly add: (ownerId: string) => Effect.Effect<void, StorageError>
  readonly remove: (ownerId: string) => Effect.Effect<void, StorageError>
  /** The first names after this one, ascending. */
  readonly page: (after: string | undefined, limit: number) => Effect.Effect<ReadonlyArray<string>, StorageError>
}

/** The chunk that a name belongs to. */
const chunkOf = (chunks: ReadonlyArray<Chunk>, name: string): number => {
  let low = 0
  let high = chunks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((chunks[middle] as Chunk)[0] <= name) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

/**
 * Changes of one process are sequential. An unreadable chunk counts as evicted; its owners return with their next
 * change after their entries were read again.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (access: Access): CacheOwners => {
  const rootKey = Records.rootKey(access.prefix)
  const lock = Permits.make(1)
  const root = Effect.map(access.get(rootKey), (text) =>
    text === undefined ? [] : (Records.decodeRoot(text)?.chunks ?? [])
  )
  const write = (key: string, owners: ReadonlyArray<string>) => access.set(key, Records.encodeOwners(owners))
  const fresh = Effect.map(access.unique, (unique) => Records.ownersKey(access.prefix, unique))

  /** While a chunk is being split, its upper half is in both chunks until the root changes. */
  const read = (chunks: ReadonlyArray<Chunk>, at: number): Effect.Effect<ReadonlyArray<string>, StorageError> => {
    const chunk = chunks[at]
    if (chunk === undefined) return Effect.succeed([])
    const next = chunks[at + 1]?.[0]
    return Effect.map(access.get(chunk[1]), (text) => {
      const names = text === undefined ? [] : (Records.decodeOwners(text)?.owners ?? [])
      return next === undefined ? names : names.filter((name) => name < next)
    })
  }

  const add = Effect.fnUntraced(function* (ownerId: string) {
    const chunks = yield* root
    const at = chunkOf(chunks, ownerId)
    const names = yield* read(chunks, at)
    if (names.includes(ownerId)) return
    const place = names.findIndex((name) => name > ownerId)
    const added = names.toSpliced(place < 0 ? names.length : place, 0, ownerId)
    const key = chunks[at]?.[1] ?? (yield* fresh)
    if (added.length <= MAX_NAMES) {
      yield* write(key, added)
      if (chunks.length === 0) yield* access.set(rootKey, Records.encodeRoot([["", key]]))
      return
    }
    const upper = added.slice(MAX_NAMES / 2)
    const upperKey = yield* fresh
    yield* write(upperKey, upper)
    yield* access.set(rootKey, Records.encodeRoot(chunks.toSpliced(at + 1, 0, [upper[0] as string, upperKey])))
    yield* write(key, added.slice(0, MAX_NAMES / 2))
  })

  const remove = Effect.fnUntraced(function* (ownerId: string) {
    const chunks = yield* root
    const at = chunkOf(chunks, ownerId)
    const names = yield* read(chunks, at)
    if (!names.includes(ownerId)) return
    const key = (chunks[at] as Chunk)[1]
    if (names.length > 1 || at === 0) {
      yield* write(
        key,
        names.filter((name) => name !== ownerId)
      )
      return
    }
    yield* access.set(rootKey, Records.encodeRoot(chunks.toSpliced(at, 1)))
    yield* access.forget([key])
  })

  return {
    add: (ownerId) => lock(add(ownerId)),
    remove: (ownerId) => lock(remove(ownerId)),
    page: Effect.fnUntraced(function* (after, limit) {
      const chunks = yield* root
      const found: Array<string> = []
      for (
        let at = after === undefined ? 0 : chunkOf(chunks, after);
        at < chunks.length && found.length < limit;
        at++
      ) {
        for (const name of yield* read(chunks, at)) if (after === undefined || name > after) found.push(name)
      }
      return found.slice(0, limit)
    })
  }
}
