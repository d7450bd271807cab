/**
 * Copies of turns that a merge takes over into a session.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { TurnId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { Session, SessionTurn, TurnRef } from "../turn/Session.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"

/**
 * @category getters
 */
export const keyOf = ({ sessionId, turnId }: TurnRef): string => JSON.stringify([sessionId, turnId])

/**
 * The key of a turn that all its copies share.
 *
 * @category getters
 */
export const identityOf = ({ id, origin, sessionId }: SessionTurn): string => keyOf(origin ?? { sessionId, turnId: id })

/**
 * The time of the first copy: after the newest turn, even when the clock went back.
 *
 * @category getters
 */
export const startOf = (
  store: SessionStore.Service,
  { head }: Session,
  now: number
): Effect.Effect<number, SessionStorageError> =>
  head === undefined
    ? Effect.succeed(now)
    : Effect.map(store.turn(head), (found) => (Option.isSome(found) ? Math.max(now, found.value.timestamp + 1) : now))

/** Copies of the same turn have the same id, so that a repeated merge cannot write them twice. */
const copyId = (turn: SessionTurn, salt: string | undefined): TurnId =>
  TurnId.make(`merge:${CanonicalJson.hash([identityOf(turn), salt ?? null]).slice(0, 40)}`)

/**
 * Copies of turns that follow the head of a session, with times from `start` on, a millisecond apart.
 *
 * @category constructors
 */
export const make = (
  session: Session,
  turns: ReadonlyArray<SessionTurn>,
  start: number,
  salt: string | undefined
): ReadonlyArray<SessionTurn> => {
  let parent = session.head
  return turns.map((turn, index) => {
    const { parent: _, ...said } = turn
    const copy: SessionTurn = {
      ...said,
      id: copyId(turn, salt),
      timestamp: start + index,
      sessionId: session.id,
      ...(parent === undefined ? {} : { parent }),
      depth: session.depth + index + 1,
      origin: turn.origin ?? { sessionId: turn.sessionId, turnId: turn.id, timestamp: turn.timestamp }
    }
    parent = { sessionId: session.id, turnId: copy.id }
    return copy
  })
}
