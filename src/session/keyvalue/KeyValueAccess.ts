/**
 * Shared access to sessions in a key-value store: one writer at a time, and a cache of what the store holds.
 *
 * @private
 * @since 0.1.0
 */
import type * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Effect from "effect/Effect"
import * as Permits from "../../internal/fiber/Permits.js"
import * as SessionCodec from "../turn/SessionCodec.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import { Catalog } from "./KeyValueCatalog.js"
import * as KeyValueReader from "./KeyValueReader.js"
import * as Records from "./KeyValueRecords.js"
import * as KeyValueSweep from "./KeyValueSweep.js"
import * as KeyValueValues from "./KeyValueValues.js"
import type { Entries } from "./KeyValueWriter.js"

/**
 * @category models
 */
export interface Access {
  readonly keys: Records.Keys
  readonly values: KeyValueValues.Values
  readonly reader: KeyValueReader.Reader
  readonly sweep: KeyValueSweep.Sweep
  /** Runs one effect at a time. An interrupted write leaves the stored state unknown, so it is read again. */
  readonly exclusive: <A, E>(
    effect: Effect.Effect<A, E>
  ) => Effect.Effect<A, Exclude<E, KeyValueReader.Torn> | SessionStorageError>
  /**
   * Runs concurrently with a writer. A read that finds missing or partly written values (files are not replaced in one
   * step) is repeated after the writer.
   */
  readonly concurrent: <A, E>(
    read: Effect.Effect<A, E>
  ) => Effect.Effect<A, Exclude<E, KeyValueReader.Torn> | SessionStorageError>
  /** Read once. Use it inside `exclusive` only. */
  readonly catalog: Effect.Effect<Catalog, SessionStorageError>
  /** Makes the next use read the catalog again. */
  readonly invalidate: () => void
  /** The last value makes the write visible; the next write may finish removals that remain. */
  readonly commit: (entries: Entries, record: Records.Record) => Effect.Effect<void, SessionStorageError>
}

/**
 * @category constructors
 */
export const make = (store: KeyValueStore.KeyValueStore, prefix: string): Access => {
  const keys = Records.keys(prefix)
  let isTouched = false
  let loaded: Catalog | undefined
  const values = KeyValueValues.make(store, () => {
    isTouched = true
  })
  const reader = KeyValueReader.make(values, keys)
  const sweep = KeyValueSweep.make(values, keys, reader)
  const lock = Permits.make(1)

  const untorn = <A, E, B, E2>(
    effect: Effect.Effect<A, E>,
    otherwise: (torn: KeyValueReader.Torn) => Effect.Effect<B, E2>
  ): Effect.Effect<A | B, Exclude<E, KeyValueReader.Torn> | E2> =>
    Effect.catchAll(
      effect,
      (error): Effect.Effect<B, Exclude<E, KeyValueReader.Torn> | E2> =>
        error instanceof KeyValueReader.Torn ? otherwise(error) : Effect.fail(error as Exclude<E, KeyValueReader.Torn>)
    )
  const exclusive: Access["exclusive"] = (effect) =>
    lock(
      Effect.suspend(() => {
        isTouched = false
        return Effect.onError(
          untorn(effect, ({ key }) => Effect.fail(SessionCodec.unreadable(key))),
          () =>
            Effect.sync(() => {
              if (isTouched) loaded = undefined
            })
        )
      })
    )
  return {
    keys,
    values,
    reader,
    sweep,
    exclusive,
    concurrent: (read) => Effect.catchAll(read, () => exclusive(read)),
    catalog: Effect.suspend(() =>
      loaded !== undefined
        ? Effect.succeed(loaded)
        : Effect.tap(Catalog.load(values, keys, reader), (catalog) =>
            Effect.map(sweep.resume(catalog), () => {
              loaded = catalog
            })
          )
    ),
    invalidate: () => {
      loaded = undefined
    },
    commit: Effect.fnUntraced(function* (entries, record) {
      const { id } = record.session
      const text = yield* Records.record.encode(record)
      for (const [key, value] of entries) yield* values.write(key, value)
      yield* values.write(keys.record(id), text)
      loaded?.put(record)
      yield* Effect.ignore(sweep.checkpoints(id, record.checkpoints.dead))
    })
  }
}
