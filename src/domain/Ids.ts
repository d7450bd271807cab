/**
 * Branded identifiers shared by every subsystem. On the wire all are plain strings of 1 to 256 characters without
 * control characters.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what the pattern refuses
const printable = /^[^\u0000-\u001f\u007f-\u009f]*$/

const Id = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256), Schema.pattern(printable))

/**
 * One run of an agent.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RunId = Id.pipe(Schema.brand("RunId")).annotations({ identifier: "effect-lexigram/domain/Ids/RunId" })
/**
 * @since 0.1.0
 * @category models
 */
export type RunId = typeof RunId.Type

/**
 * A conversation that outlives a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionId = Id.pipe(Schema.brand("SessionId")).annotations({
  identifier: "effect-lexigram/domain/Ids/SessionId"
})
/**
 * @since 0.1.0
 * @category models
 */
export type SessionId = typeof SessionId.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const UserId = Id.pipe(Schema.brand("UserId")).annotations({ identifier: "effect-lexigram/domain/Ids/UserId" })
/**
 * @since 0.1.0
 * @category models
 */
export type UserId = typeof UserId.Type

/**
 * One turn of a session.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnId = Id.pipe(Schema.brand("TurnId")).annotations({ identifier: "effect-lexigram/domain/Ids/TurnId" })
/**
 * @since 0.1.0
 * @category models
 */
export type TurnId = typeof TurnId.Type

/**
 * One memory entry.
 *
 * @since 0.1.0
 * @category schemas
 */
export const EntryId = Id.pipe(Schema.brand("EntryId")).annotations({
  identifier: "effect-lexigram/domain/Ids/EntryId"
})
/**
 * @since 0.1.0
 * @category models
 */
export type EntryId = typeof EntryId.Type
