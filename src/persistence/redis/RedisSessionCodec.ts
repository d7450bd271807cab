/**
 * Sessions, turns and checkpoints as arguments and replies of the scripts of `RedisSessionStore`.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Exchange, Session, SessionCheckpoint, SessionTurn } from "../../session/turn/Session.js"
import * as SessionCodec from "../../session/turn/SessionCodec.js"
import type { SessionStorageError } from "../../session/turn/SessionError.js"
import * as KeyText from "../engine/KeyText.js"
import * as PlainSession from "../session/PlainSession.js"
import type { Argument } from "./RedisScript.js"

/**
 * @category errors
 */
export const unreadable = SessionCodec.unreadable("the key of a session in Redis")

/** Fields `j`, `v`, `st`, `t`, `rev` of a session. */
type SessionReply = readonly [string, string, string, string, string]

const textOf = ([whole, moved, status, updatedAt, revision]: SessionReply): string =>
  // In JSON with duplicate fields the last one wins.
  `${whole.slice(0, -1)}${moved === "" ? "" : `,${moved.slice(1, -1)}`},"status":${JSON.stringify(status)},"updatedAt":${updatedAt},"revision":${revision}}`

const isSessionReply = (reply: unknown): reply is SessionReply =>
  Array.isArray(reply) && reply.every((one) => typeof one === "string")

/**
 * @category decoding
 */
export const decodeSession = (reply: unknown): Effect.Effect<Session, SessionStorageError> =>
  isSessionReply(reply)
    ? PlainSession.session.decode("the key of a session in Redis", textOf(reply))
    : Effect.fail(unreadable)

/**
 * @category decoding
 */
export const decodeSessions = (replies: unknown): Effect.Effect<ReadonlyArray<Session>, SessionStorageError> =>
  Effect.forEach(replies as ReadonlyArray<unknown>, decodeSession)

/**
 * Turns are stored after the session and the id of their parent.
 *
 * @category decoding
 */
export const decodeTurn = (value: unknown): Effect.Effect<SessionTurn, SessionStorageError> => {
  const text = String(value)
  return PlainSession.turn.decode(
    "the key of turns in Redis",
    text.slice(text.indexOf("\0", text.indexOf("\0") + 1) + 1)
  )
}

/**
 * @category decoding
 */
export const decodeTurns = (texts: unknown): Effect.Effect<ReadonlyArray<SessionTurn>, SessionStorageError> =>
  Effect.forEach(texts as ReadonlyArray<string>, (text) => PlainSession.turn.decode("the key of turns in Redis", text))

/**
 * Name of the exchanges in errors.
 *
 * @category constants
 */
export const EXCHANGES = "the key of exchanges in Redis"

/**
 * @category decoding
 */
export const decodeExchange = (text: string): Effect.Effect<Exchange, SessionStorageError> =>
  SessionCodec.exchange.decode(EXCHANGES, text)

/**
 * @category decoding
 */
export const decodeCheckpoint = (text: unknown): Effect.Effect<SessionCheckpoint, SessionStorageError> =>
  typeof text === "string"
    ? SessionCodec.checkpoint.decode("the key of a checkpoint in Redis", text)
    : Effect.fail(unreadable)

/**
 * @category decoding
 */
export const optional = <A>(
  text: unknown,
  decode: (text: unknown) => Effect.Effect<A, SessionStorageError>
): Effect.Effect<Option.Option<A>, SessionStorageError> =>
  text === null ? Effect.succeedNone : Effect.asSome(decode(text))

/**
 * @category encoding
 */
export const id = KeyText.encode
/**
 * @category encoding
 */
export const named = (text: string | undefined): string => (text === undefined ? "" : `=${id(text)}`)
/**
 * @category encoding
 */
export const user = (userId: string | null | undefined): string =>
  userId === null || userId === undefined ? "-" : named(userId)
/**
 * @category encoding
 */
export const limit = (most: number | undefined): Argument => (most === undefined || !Number.isFinite(most) ? "" : most)
/**
 * @category encoding
 */
export const most = (count: number): number => Math.min(count, 1e9)

/**
 * @category encoding
 */
export const sessionArgs = (session: Session, text: string): ReadonlyArray<Argument> => [
  text,
  session.status,
  session.updatedAt,
  session.revision,
  session.createdAt,
  user(session.userId),
  named(session.parentSessionId),
  named(session.rootSessionId)
]

/**
 * @category encoding
 */
export const checkpointArgs = (
  checkpoint: SessionCheckpoint | undefined,
  keep?: number | undefined
): Effect.Effect<ReadonlyArray<Argument>, SessionStorageError> =>
  checkpoint === undefined
    ? Effect.succeed(["", "", "", "", "", ""])
    : Effect.map(SessionCodec.checkpoint.encode(checkpoint), (text) => [
        id(checkpoint.id),
        text,
        checkpoint.kind,
        checkpoint.revision,
        checkpoint.merge === undefined ? "" : id(checkpoint.merge.sessionId),
        limit(keep)
      ])

/**
 * @category encoding
 */
export const turnArgs = (
  session: Session,
  turn: SessionTurn
): Effect.Effect<ReadonlyArray<Argument>, SessionStorageError> =>
  Effect.map(PlainSession.turn.encode(turn), (text) => [
    id(turn.id),
    turn.parent === undefined || turn.parent.sessionId === session.id ? "" : id(turn.parent.sessionId),
    turn.parent === undefined ? "" : id(turn.parent.turnId),
    text
  ])
