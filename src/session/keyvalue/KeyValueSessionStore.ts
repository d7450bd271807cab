/**
 * Stores sessions in a `KeyValueStore` of `@effect/platform`: in files, in browser storage, or in any other
 * implementation.
 *
 * **One process at a time.** A key-value store can neither compare and set nor write two values in one step. The layer
 * serializes its writes and writes the record of a session last, so an interrupted write is not visible. Two processes,
 * or two of these layers, on the same keys overwrite each other.
 *
 * Each turn is a value of its own, so the size of a write does not grow with the conversation. The first call that
 * creates, lists, expires or deletes reads the record of every session once; the list fields stay in memory.
 *
 * @since 0.1.0
 */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Session } from "../turn/Session.js"
import * as SessionStore from "../turn/SessionStore.js"
import * as KeyValueAccess from "./KeyValueAccess.js"
import type { Catalog } from "./KeyValueCatalog.js"
import * as KeyValueChanges from "./KeyValueChanges.js"
import * as KeyValueExchanges from "./KeyValueExchanges.js"
import * as KeyValueReader from "./KeyValueReader.js"
import type * as Records from "./KeyValueRecords.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The prefix of all keys, so that others can use the same key-value store; default `lexigram-sessions-`. */
  readonly prefix?: string | undefined
}

/**
 * `expire` writes one session after the other. When a write fails, the sessions before it are expired and returned.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Effect.Effect<SessionStore.Service, never, KeyValueStore.KeyValueStore> =>
  Effect.map(KeyValueStore.KeyValueStore, (store): SessionStore.Service => {
    const access = KeyValueAccess.make(store, options?.prefix ?? "lexigram-sessions-")
    const { exclusive, concurrent, catalog, keys, reader, values } = access
    const changes = KeyValueChanges.make(access)
    const exchanges = KeyValueExchanges.make(access)

    const listed = Effect.fnUntraced(function* (
      find: (catalog: Catalog) => ReadonlyArray<{ readonly session: Records.Standing }>
    ) {
      const found: Array<Session> = []
      for (const { id } of find(yield* catalog).map((entry) => entry.session)) {
        const record = yield* reader.record(id)
        if (record === undefined) return yield* new KeyValueReader.Torn({ key: keys.record(id) })
        found.push(yield* reader.session(record))
      }
      return found
    })

    return {
      name: "key_value",
      create: (creation) => exclusive(changes.create(creation)),
      load: (id) =>
        concurrent(
          Effect.flatMap(reader.record(id), (found) =>
            found === undefined || found.deleted !== undefined
              ? Effect.succeedNone
              : Effect.map(reader.session(found), Option.some)
          )
        ),
      save: (change) => exclusive(changes.save(change)),
      append: (addition) => exclusive(changes.append(addition)),
      open: (exchange) => exclusive(exchanges.open(exchange)),
      exchange: (ref) => exclusive(Effect.map(exchanges.exchange(ref), Option.fromNullable)),
      withdraw: (ref) => exclusive(exchanges.withdraw(ref)),
      lease: (options) => exclusive(exchanges.lease(options)),
      orphans: (options) => exclusive(exchanges.orphans(options)),
      turn: (ref) => concurrent(Effect.map(reader.turn(ref), (found) => Option.fromNullable(found?.slot.turn))),
      turns: (head, options) => concurrent(reader.turns(head, options)),
      list: (options) => exclusive(listed(({ index }) => index.list(options))),
      idle: ({ after, limit, since }) => exclusive(listed(({ index }) => index.idle(since, limit, after))),
      expire: (options) => exclusive(changes.expire(options)),
      checkpoint: (id) => Effect.map(reader.checkpoint(id), (found) => Option.fromNullable(found?.checkpoint)),
      checkpoints: reader.checkpoints,
      lastMerge: (into, from) => Effect.map(reader.lastMerge(into, from), Option.fromNullable),
      deleteCheckpoint: (id) => exclusive(changes.deleteCheckpoint(id)),
      delete: (id) => exclusive(changes.remove(id)),
      health: Effect.asVoid(values.text(keys.catalog))
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { KeyValueStore } from "@effect/platform"
 * import { NodeContext } from "@effect/platform-node"
 * import { KeyValueSessionStore, Sessions } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * // One folder with the sessions of a single process.
 * const sessions = Sessions.layer({
 *   store: KeyValueSessionStore.layer({ prefix: "desk-" }).pipe(
 *     Layer.provide(KeyValueStore.layerFileSystem("data/sessions")),
 *     Layer.provide(NodeContext.layer)
 *   )
 * })
 * ```
 */
export const layer = (options?: Options): Layer.Layer<SessionStore.SessionStore, never, KeyValueStore.KeyValueStore> =>
  Layer.effect(SessionStore.SessionStore, make(options))
