/**
 * Encodes sessions and turns as JSON without their schemas, which cost ten times as much. Nearly every session and turn
 * is plain JSON; the others go through the schema. The checks here accept nothing that the schema would reject or
 * change.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as PlainCheck from "../../internal/text/PlainCheck.js"
import type { Session, SessionTurn } from "../../session/turn/Session.js"
import * as SessionCodec from "../../session/turn/SessionCodec.js"
import type { SessionStorageError } from "../../session/turn/SessionError.js"
import * as SessionStoreErrors from "../../session/turn/SessionStoreErrors.js"

/**
 * A turn whose JSON is the turn itself.
 *
 * @category predicates
 */
export const isTurn: PlainCheck.Check = PlainCheck.make(SessionCodec.Turn)

const { checkpointId, depth, head, revision, totalCost, totalTokens, updatedAt } = SessionCodec.sessionFields
const place = { head, depth, totalTokens, totalCost, checkpointId }
const Place = Schema.Struct(place)

type Place = typeof Place.Type

const placeOf = (session: Session): Place => ({
  head: session.head,
  depth: session.depth,
  totalTokens: session.totalTokens,
  totalCost: session.totalCost,
  checkpointId: session.checkpointId
})

const areMoved = PlainCheck.make(Schema.Struct({ ...place, updatedAt, revision }))

/**
 * Whether the fields that a turn changes in a session can be stored unchanged.
 *
 * @category predicates
 */
export const isMoved = (session: Session): boolean =>
  areMoved({ ...placeOf(session), updatedAt: session.updatedAt, revision: session.revision })

const makeCodec = <A>(isPlain: PlainCheck.Check, codec: SessionCodec.Codec<A>): SessionCodec.Codec<A> => ({
  encode: (value) => {
    if (!isPlain(value)) return codec.encode(value)
    try {
      return Effect.succeed(JSON.stringify(value))
    } catch {
      return Effect.fail(SessionStoreErrors.notJson)
    }
  },
  decode: (key, text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return Effect.fail(SessionCodec.unreadable(key))
    }
    return isPlain(value) ? Effect.succeed(value as A) : codec.decode(key, text)
  }
})

/**
 * @category constants
 */
export const session: SessionCodec.Codec<Session> = makeCodec(
  PlainCheck.make(Schema.Struct(SessionCodec.sessionFields)),
  SessionCodec.session
)

/**
 * @category constants
 */
export const turn: SessionCodec.Codec<SessionTurn> = makeCodec(isTurn, SessionCodec.turn)

const placed = makeCodec<Place>(PlainCheck.make(Place), SessionCodec.make(Place))

/**
 * The fields of a session that turns change, without its revision and time, which are stored separately.
 *
 * @category encoding
 */
export const encodePlace = (session: Session): Effect.Effect<string, SessionStorageError> =>
  placed.encode(placeOf(session))
