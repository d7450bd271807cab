/**
 * A store of conversations: every entry belongs to a session, and each session keeps its newest entries.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SessionId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { MemoryStoreError, type MemoryStoreFailure } from "../entry/MemoryError.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as WrappedStore from "../search/WrappedStore.js"

/**
 * An entry without a session is a `MemoryStoreError`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service extends MemoryStore.Service {
  /** The newest `n` entries of a session (default all), oldest first. */
  readonly getSessionEntries: (options: {
    readonly ownerId: string
    readonly sessionId: SessionId
    readonly n?: number | undefined
  }) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ConversationMemoryStore extends Context.Tag("effect-lexigram/memory/ConversationMemoryStore")<
  ConversationMemoryStore,
  Service
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Maximum entries of one session. Default 1000. */
  readonly maxPerSession?: number | undefined
}

/**
 * Bounds the underlying store for each session of each owner: after a write the oldest entries of the session are
 * removed, tool calls with their results.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<Service, never, MemoryStore.MemoryStore> =>
  Effect.map(MemoryStore.MemoryStore, (store) => {
    const max = Count.count(options?.maxPerSession, 1000, 1)
    const locks = KeyedLock.make()
    return {
      ...WrappedStore.make(store, {
        before: (entry) =>
          entry.sessionId === undefined
            ? Effect.fail(
                new MemoryStoreError({
                  store: store.name,
                  message: "An entry of a conversation must belong to a session"
                })
              )
            : Effect.succeed(entry),
        after: (entries) =>
          Effect.forEach(
            WrappedStore.placesOf(entries),
            (place) =>
              locks.withLock(WrappedStore.keyOf(place))(
                WrappedStore.trim(store, {
                  ownerId: place.ownerId,
                  selection: WrappedStore.selectionOf(place),
                  max
                })
              ),
            { discard: true }
          )
      }),
      getSessionEntries: ({ n, ownerId, sessionId }) =>
        Effect.map(
          store.getRecent({
            ownerId,
            n: Math.min(max, Count.count(n, max, 0)),
            selection: { sessionIds: [sessionId] }
          }),
          (newest) => newest.toReversed()
        )
    }
  })

/**
 * Provides the store under both tags: `ConversationMemoryStore` and `MemoryStore`.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { ConversationMemoryStore, InMemoryMemoryStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const store = ConversationMemoryStore.layer({ maxPerSession: 200 }).pipe(Layer.provide(InMemoryMemoryStore.layer()))
 *
 * const newest = ConversationMemoryStore.ConversationMemoryStore.pipe(
 *   Effect.flatMap((store) =>
 *     store.getSessionEntries({ ownerId: "ada", sessionId: Ids.SessionId.make("support-17"), n: 20 })
 *   ),
 *   Effect.provide(store)
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<ConversationMemoryStore | MemoryStore.MemoryStore, never, MemoryStore.MemoryStore> =>
  Layer.effectContext(
    Effect.map(make(options), (store) =>
      Context.make(ConversationMemoryStore, store).pipe(Context.add(MemoryStore.MemoryStore, store))
    )
  )
