/**
 * Encodes sessions, turns and checkpoints as JSON text.
 *
 * @private
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Session from "./Session.js"
import { SessionStorageError } from "./SessionError.js"
import * as SessionStoreErrors from "./SessionStoreErrors.js"

/**
 * @category models
 */
export interface Codec<A> {
  readonly encode: (value: A) => Effect.Effect<string, SessionStorageError>
  /** `key` is the name in failures; it contains no content. */
  readonly decode: (key: string, text: string) => Effect.Effect<A, SessionStorageError>
}

/**
 * @category constructors
 */
export const unreadable = (key: string): SessionStorageError =>
  new SessionStorageError({
    message: `The value under ${key} cannot be read: it is not JSON, or not a record of this kind`,
    hint: "It was written by something else, or only in part; delete it, or restore it from a backup"
  })

/**
 * @category constructors
 */
export const make = <A, I>(schema: Schema.Schema<A, I>): Codec<A> => {
  const decode = Schema.decodeUnknownEither(Schema.parseJson(schema))
  const encode = Schema.encodeSync(schema)
  return {
    // Validates, so that everything written can be read again.
    encode: (value) =>
      Effect.try({ try: () => JSON.stringify(encode(value)), catch: () => SessionStoreErrors.notJson }),
    decode: (key, text) => Either.mapLeft(decode(text), () => unreadable(key))
  }
}

/** Passes values through: a record schema copies them field by field and loses a field named `__proto__`. */
const Data = Schema.declare(Predicate.isReadonlyRecord)
const data = Schema.optionalWith(Data, { default: () => ({}) })

/**
 * The fields of a session as they are stored.
 *
 * @category schemas
 */
export const sessionFields = { ...Session.Session.fields, metadata: data, variables: data }

const State = Schema.Struct({ ...Session.SessionState.fields, metadata: data, variables: data })

const contentFields = { metadata: data, skillResults: Schema.optionalWith(Schema.Array(Data), { default: () => [] }) }

/**
 * @category schemas
 */
export const Turn: Schema.Schema<Session.SessionTurn, any> = Schema.Struct({
  ...Session.SessionTurn.fields,
  ...contentFields
})

/**
 * @category schemas
 */
export const Exchange: Schema.Schema<Session.Exchange, any> = Schema.Struct({
  ...Session.Exchange.fields,
  turns: Schema.Array(Schema.Struct({ ...Session.NewTurn.fields, ...contentFields }))
})

/**
 * @category schemas
 */
export const Checkpoint: Schema.Schema<Session.SessionCheckpoint, any> = Schema.Struct({
  ...Session.SessionCheckpoint.fields,
  state: State,
  metadata: data,
  merge: Schema.optional(Schema.Struct({ ...Session.MergeRecord.fields, state: State }))
})

/**
 * @category constants
 */
export const session: Codec<Session.Session> = make(Schema.Struct(sessionFields))
/**
 * @category constants
 */
export const turn: Codec<Session.SessionTurn> = make(Turn)
/**
 * @category constants
 */
export const checkpoint: Codec<Session.SessionCheckpoint> = make(Checkpoint)
/**
 * @category constants
 */
export const exchange: Codec<Session.Exchange> = make(Exchange)

/**
 * Open exchanges that a store returns to be marked. One that cannot be read is skipped with a warning, so that the
 * others are still marked.
 *
 * @category conversions
 */
export const readableExchanges = (
  key: string,
  texts: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Session.Exchange>> =>
  Effect.map(
    Effect.forEach(texts, (text) =>
      Effect.catchAll(Effect.map(exchange.decode(key, text), Array.of<Session.Exchange>), ({ message }) =>
        Effect.as(
          Effect.annotateLogs(Effect.logWarning(`An open exchange is not marked: ${message}`), {
            module: "SessionStore"
          }),
          []
        )
      )
    ),
    (found) => found.flat()
  )
