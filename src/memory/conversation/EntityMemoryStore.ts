/**
 * A store that indexes entries by the entities they name.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryStoreFailure, RetrievalFailure } from "../entry/MemoryError.js"
import type { Selection } from "../entry/Selection.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as WrappedStore from "../search/WrappedStore.js"
import * as EntityNames from "../text/EntityNames.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service extends MemoryStore.Service {
  /**
   * Stores an entry with these names; by default those of its `metadata.entities`, otherwise those found in its text.
   */
  readonly store: (
    entry: MemoryEntry,
    entities?: ReadonlyArray<string> | undefined
  ) => Effect.Effect<void, RetrievalFailure>
  /**
   * The newest `n` entries (default 100) that contain the full name of the entity, ignoring case; newest first.
   */
  readonly getByEntity: (options: {
    readonly ownerId: string
    readonly entity: string
    readonly n?: number | undefined
    readonly selection?: Selection | undefined
  }) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EntityMemoryStore extends Context.Tag("effect-lexigram/memory/EntityMemoryStore")<
  EntityMemoryStore,
  Service
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Finds the names of a text. Default `EntityNames.entitiesOf`. */
  readonly namesOf?: ((text: string) => ReadonlyArray<string>) | undefined
}

/** The metadata key of the names of an entry. */
const ENTITIES = "entities"
/** The metadata key of the names in searchable form. */
const KEYS = "entityKeys"

const maxNames = 64
const maxName = 256

/** A name without case, width and spacing. */
const keyOf = (name: string): string =>
  name.slice(0, maxName).normalize("NFKC").toLowerCase().replace(/\s+/gu, " ").trim()

const namesIn = (entry: MemoryEntry): ReadonlyArray<string> | undefined => {
  const names = Object.hasOwn(entry.metadata, ENTITIES) ? entry.metadata[ENTITIES] : undefined
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === "string") : undefined
}

/**
 * Adds names to the metadata of entries (`entities`, `entityKeys`), at most 64, and stores them in the underlying
 * store.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<Service, never, MemoryStore.MemoryStore> =>
  Effect.map(MemoryStore.MemoryStore, (store) => {
    const namesOf = options?.namesOf ?? EntityNames.entitiesOf
    const named = (entry: MemoryEntry, entities: ReadonlyArray<string> | undefined): Effect.Effect<MemoryEntry> =>
      Effect.sync(() => {
        const names = new Map<string, string>()
        for (const name of entities ?? namesIn(entry) ?? namesOf(entry.content)) {
          const key = keyOf(name)
          if (names.size < maxNames && key !== "" && !names.has(key)) names.set(key, name.slice(0, maxName))
        }
        const { [ENTITIES]: _, [KEYS]: __, ...metadata } = entry.metadata
        return {
          ...entry,
          metadata:
            names.size === 0
              ? metadata
              : { ...metadata, [ENTITIES]: Array.from(names.values()), [KEYS]: Array.from(names.keys()) }
        }
      })
    const wrapped = WrappedStore.make(store, { before: (entry) => named(entry, undefined) })
    return {
      ...wrapped,
      store: (entry, entities) =>
        entities === undefined ? wrapped.store(entry) : Effect.flatMap(named(entry, entities), store.store),
      getByEntity: ({ entity, n, ownerId, selection }) => {
        const key = keyOf(entity)
        return key === ""
          ? Effect.succeed([])
          : store.getRecent({
              ownerId,
              n: n ?? 100,
              selection: { ...selection, filters: { ...selection?.filters, [KEYS]: key } }
            })
      }
    }
  })

/**
 * Provides the store under both tags: `EntityMemoryStore` and `MemoryStore`.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { EntityMemoryStore, InMemoryMemoryStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const store = EntityMemoryStore.layer().pipe(Layer.provide(InMemoryMemoryStore.layer()))
 *
 * // Every entry that mentions her full name, newest first.
 * const program = EntityMemoryStore.EntityMemoryStore.pipe(
 *   Effect.flatMap((store) => store.getByEntity({ ownerId: "ada", entity: "Anna Smith", n: 5 })),
 *   Effect.provide(store)
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<EntityMemoryStore | MemoryStore.MemoryStore, never, MemoryStore.MemoryStore> =>
  Layer.effectContext(
    Effect.map(make(options), (store) =>
      Context.make(EntityMemoryStore, store).pipe(Context.add(MemoryStore.MemoryStore, store))
    )
  )
