/**
 * A store that knows whom and what its entries name.
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
  /** Stores an entry that names these; without them those of its `metadata.entities`, else those its text names. */
  readonly store: (
    entry: MemoryEntry,
    entities?: ReadonlyArray<string> | undefined
  ) => Effect.Effect<void, RetrievalFailure>
  /**
   * The newest `n` entries (100 unless set) that name the entity by its whole name, whatever the case; newest first.
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
  /** The names in a text; `EntityNames.entitiesOf` unless set. */
  readonly namesOf?: ((text: string) => ReadonlyArray<string>) | undefined
}

/** The names of an entry as they were told. */
const ENTITIES = "entities"
/** The same in the form they are looked for in. */
const KEYS = "entityKeys"

const maxNames = 64
const maxName = 256

/** What is left of a name when nothing is told apart that reads alike. */
const keyOf = (name: string): string =>
  name.slice(0, maxName).normalize("NFKC").toLowerCase().replace(/\s+/gu, " ").trim()

const told = (entry: MemoryEntry): ReadonlyArray<string> | undefined => {
  const names = Object.hasOwn(entry.metadata, ENTITIES) ? entry.metadata[ENTITIES] : undefined
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === "string") : undefined
}

/**
 * The store below; what is written says in its metadata (`entities`, `entityKeys`) whom and what it names: at most 64
 * names.
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
        for (const name of entities ?? told(entry) ?? namesOf(entry.content)) {
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
 * Gives the store both as what it is and as the store of everything else.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<EntityMemoryStore | MemoryStore.MemoryStore, never, MemoryStore.MemoryStore> =>
  Layer.effectContext(
    Effect.map(make(options), (store) =>
      Context.make(EntityMemoryStore, store).pipe(Context.add(MemoryStore.MemoryStore, store))
    )
  )
