/**
 * Reads and writes values of a key-value store through their codecs.
 *
 * @private
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as SessionCodec from "../turn/SessionCodec.js"
import { SessionStorageError } from "../turn/SessionError.js"

/**
 * @category models
 */
export interface Values {
  readonly text: (key: string) => Effect.Effect<Option.Option<string>, SessionStorageError>
  readonly get: <A>(codec: SessionCodec.Codec<A>, key: string) => Effect.Effect<A | undefined, SessionStorageError>
  readonly set: <A>(codec: SessionCodec.Codec<A>, key: string, value: A) => Effect.Effect<void, SessionStorageError>
  readonly write: (key: string, text: string) => Effect.Effect<void, SessionStorageError>
  /** A missing key is not a failure. */
  readonly remove: (key: string) => Effect.Effect<void, SessionStorageError>
}

const reasonOf = (error: PlatformError): string => (error._tag === "SystemError" ? error.reason : error._tag)

/** The platform's own error text may contain a part of the value. */
const failed = (what: string, key: string) => (error: PlatformError) =>
  new SessionStorageError({
    message: `The value under ${key} could not be ${what} (${reasonOf(error)})`,
    hint: "Check that the key-value store can be read and written, and has room"
  })

const isGone = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"

/**
 * `onWrite` is called before each change.
 *
 * @category constructors
 */
export const make = (store: KeyValueStore.KeyValueStore, onWrite: () => void): Values => {
  const text: Values["text"] = (key) => Effect.mapError(store.get(key), failed("read", key))
  const changing = <A, E>(change: () => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      onWrite()
      return change()
    })
  const write: Values["write"] = (key, value) =>
    changing(() => Effect.mapError(store.set(key, value), failed("written", key)))
  return {
    text,
    write,
    get: (codec, key) =>
      Effect.flatMap(text(key), (found) =>
        Option.isNone(found) ? Effect.succeed(undefined) : codec.decode(key, found.value)
      ),
    set: (codec, key, value) => Effect.flatMap(codec.encode(value), (encoded) => write(key, encoded)),
    remove: (key) =>
      changing(() =>
        Effect.catchAll(store.remove(key), (error) =>
          isGone(error) ? Effect.void : Effect.fail(failed("removed", key)(error))
        )
      )
  }
}
