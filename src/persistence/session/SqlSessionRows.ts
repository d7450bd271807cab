/**
 * Converts sessions, turns and checkpoints to rows and back.
 *
 * The state of a session is stored separately and in the same form as that of its checkpoints, so that equal large
 * states are stored once.
 *
 * @private
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Mutable } from "effect/Types"
import type { SessionId, TurnId } from "../../domain/Ids.js"
import * as Session from "../../session/turn/Session.js"
import * as SessionCodec from "../../session/turn/SessionCodec.js"
import type { SessionStorageError } from "../../session/turn/SessionError.js"
import * as SessionStoreErrors from "../../session/turn/SessionStoreErrors.js"
import type { Row } from "../engine/Database.js"
import type { Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as Payloads from "../engine/Payloads.js"
import * as SessionTables from "../schema/SessionTables.js"
import * as PlainSession from "./PlainSession.js"

type Encoded<A> = Effect.Effect<A, SessionStorageError>
type Decoded<A> = Either.Either<A, SessionStorageError>

const {
  activeSkills,
  activeTools,
  branchName,
  checkpointId,
  createdAt,
  cuts,
  depth,
  head,
  id,
  parentSessionId,
  revision,
  rootSessionId,
  status,
  systemPrompt,
  totalCost,
  totalTokens,
  updatedAt,
  userId
} = SessionCodec.sessionFields

const place = { head, depth, totalTokens, totalCost }
const moving = { ...place, updatedAt, revision, checkpointId }
/** Keeps the value as it is: a schema of records loses a field named `__proto__`. */
const Data = Schema.declare((value): value is { readonly [key: string]: unknown } => Predicate.isReadonlyRecord(value))
/** These fields are always written, so that no state is an empty text. */
const state = { activeSkills, activeTools, cuts, systemPrompt, metadata: Data, variables: Data }
const lineage = Schema.Array(Session.Ancestor)

const Moving = Schema.Struct(moving)
const Standing = Schema.Struct({ ...moving, id, createdAt, status })
const State = Schema.Struct(state)
/** The fields of a session that are not columns. */
const Profile = Schema.Struct({ userId, parentSessionId, rootSessionId, branchName, lineage })
const WholeState = Schema.Struct({ ...state, ...place, status })
/** The fields of a checkpoint without the state that it shares with sessions. */
const Facts = Schema.Struct({
  ...Session.SessionCheckpoint.fields,
  state: Schema.Struct({ ...place, status }),
  metadata: Data,
  merge: Schema.optional(Schema.Struct({ ...Session.MergeRecord.fields, state: WholeState }))
})

const profiles = SessionCodec.make(Profile)
const states = SessionCodec.make(State)
const facts = SessionCodec.make(Facts)

const checkMoving = Schema.encodeSync(Moving)
const checkStanding = Schema.encodeSync(Standing)

/** JSON would write null for a non-finite number. */
const checked = <A extends { readonly totalCost: number }>(check: (value: A) => unknown, value: A): Encoded<void> =>
  Effect.try({
    try: () => {
      check(value)
      if (!Number.isFinite(value.totalCost)) throw new RangeError("Not finite")
    },
    catch: () => SessionStoreErrors.notJson
  })

/** JSON has no negative zero. */
const plain = (value: number): number => value + 0

const keyOrNull = (text: string | undefined): string | null => (text === undefined ? null : KeyText.encode(text))

/**
 * Without a user it is the empty text, which is not an id.
 *
 * @category conversions
 */
export const userKey = (user: string | null | undefined): string =>
  user === undefined || user === null ? "" : KeyText.encode(user)

/**
 * Scopes of large texts. Those of turns are deleted with the turns, which may outlive their session.
 *
 * @category constants
 */
export const scopes = { turns: "lex_session_turns ", states: "lex_session_states " } as const

/**
 * The fields that a turn changes, in the order of `Statements.moving`.
 *
 * @category conversions
 */
export const movingParams = (session: Session.Session): ReadonlyArray<Param> => [
  keyOrNull(session.head?.sessionId),
  keyOrNull(session.head?.turnId),
  plain(session.depth),
  plain(session.totalTokens),
  plain(session.totalCost),
  plain(session.updatedAt),
  plain(session.revision),
  keyOrNull(session.checkpointId)
]

/**
 * In the order of `Statements.standing`.
 *
 * @category conversions
 */
export const standingParams = (session: Session.Session): ReadonlyArray<Param> => [
  ...movingParams(session),
  userKey(session.userId),
  keyOrNull(session.parentSessionId),
  KeyText.encode(session.rootSessionId ?? session.id),
  SessionTables.statuses.indexOf(session.status),
  plain(session.createdAt)
]

/**
 * @category conversions
 */
export const checkMoved = (session: Session.Session): Encoded<void> =>
  PlainSession.isMoved(session) ? Effect.void : checked(checkMoving, session)

/**
 * The texts of a session beside its columns.
 *
 * @category models
 */
export interface Rest {
  readonly profile: Payloads.Packed
  readonly state: Payloads.Packed
}

const stateOf = (of: Session.SessionState): typeof State.Type => ({
  activeSkills: of.activeSkills,
  activeTools: of.activeTools,
  cuts: of.cuts,
  metadata: of.metadata,
  ...(of.systemPrompt === undefined ? undefined : { systemPrompt: of.systemPrompt }),
  variables: of.variables
})

const packed = <A>(codec: SessionCodec.Codec<A>, value: A): Encoded<Payloads.Packed> =>
  Effect.flatMap(codec.encode(value), Payloads.pack)

/**
 * Fails if a part of the session could not be read back.
 *
 * @category conversions
 */
export const sessionRest = (session: Session.Session): Encoded<Rest> =>
  Effect.zipRight(
    checked(checkStanding, session),
    Effect.zipWith(packed(profiles, session), packed(states, stateOf(session)), (profile, state) => ({
      profile,
      state
    }))
  )

/**
 * A turn ready to be written.
 *
 * @category models
 */
export interface TurnRow {
  readonly key: string
  readonly parent: Session.TurnRef | undefined
  readonly packed: Payloads.Packed
}

/**
 * @category conversions
 */
export const turnRow = (turn: Session.SessionTurn): Encoded<TurnRow> =>
  Effect.map(packed(PlainSession.turn, turn), (packed) => ({
    key: KeyText.encode(turn.id),
    parent: turn.parent,
    packed
  }))

/**
 * A checkpoint ready to be written.
 *
 * @category models
 */
export interface CheckpointRow extends Rest {
  readonly params: ReadonlyArray<Param>
}

/**
 * @category conversions
 */
export const checkpointRow = (checkpoint: Session.SessionCheckpoint): Encoded<CheckpointRow> =>
  Effect.zipWith(packed(facts, checkpoint), packed(states, stateOf(checkpoint.state)), (profile, state) => ({
    profile,
    state,
    params: [
      KeyText.encode(checkpoint.id),
      KeyText.encode(checkpoint.sessionId),
      plain(checkpoint.revision),
      SessionTables.kinds.indexOf(checkpoint.kind),
      keyOrNull(checkpoint.merge?.sessionId),
      profile.body,
      profile.ref,
      state.body,
      state.ref
    ]
  }))

/** Reads a text from its column, or from the data that it refers to. */
const read = <A>(codec: Codec<A>, row: Row, body: string, data: string): Decoded<A> => {
  const text = Payloads.unpack({ body: row[body], data: row[data] })
  return text === undefined ? Either.left(SessionCodec.unreadable(codec.name)) : codec.decode(text)
}

interface Codec<A> {
  readonly name: string
  readonly decode: (text: string) => Decoded<A>
}

/** Errors name the table only, because ids are user data. */
const named = <A, I>(
  schema: Schema.Schema<A, I>,
  name: string,
  isPlain: (value: unknown) => boolean = () => false
): Codec<A> => {
  const decode = Schema.decodeUnknownEither(schema)
  const isWhole = Schema.is(Schema.typeSchema(schema))
  const whole = Either.liftPredicate(isWhole, () => SessionCodec.unreadable(name))
  return {
    name,
    decode: (text) => {
      let value: unknown
      try {
        value = JSON.parse(text)
      } catch {
        return Either.left(SessionCodec.unreadable(name))
      }
      if (isPlain(value)) return Either.right(value as A)
      // Data written by this version needs no defaults, and checking is five times as fast as decoding.
      return Either.orElse(whole(value), () => Either.mapLeft(decode(value), () => SessionCodec.unreadable(name)))
    }
  }
}

const turnCodec = named(SessionCodec.Turn, "a row of lex_session_turns", PlainSession.isTurn)
const profileCodec = named(Profile, "a row of lex_session_states")
const stateCodec = named(State, "a row of lex_session_states")
const factsCodec = named(Facts, "a row of lex_session_checkpoints")
const checkpointState = named(State, "a row of lex_session_checkpoints")

const refOf = (session: string, turn: string): Session.TurnRef => ({
  sessionId: KeyText.decode(session) as SessionId,
  turnId: KeyText.decode(turn) as TurnId
})

/**
 * From the columns of `Statements.sessionColumns`.
 *
 * @category conversions
 */
export const session = (row: Row): Decoded<Session.Session> => {
  const profile = read(profileCodec, row, "body", "body_data")
  if (Either.isLeft(profile)) return Either.left(profile.left)
  const state = read(stateCodec, row, "state", "state_data")
  if (Either.isLeft(state)) return Either.left(state.left)
  const status = SessionTables.statuses[Number(row["status"])]
  if (status === undefined) return Either.left(SessionCodec.unreadable("a row of lex_sessions"))
  const found: Mutable<Session.Session> = {
    id: KeyText.decode(row["id"]) as SessionId,
    status,
    depth: Number(row["depth"]),
    totalTokens: Number(row["total_tokens"]),
    totalCost: Number(row["total_cost"]),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
    revision: Number(row["revision"]),
    ...profile.right,
    ...state.right
  }
  if (row["head_session"] !== null) found.head = refOf(row["head_session"], row["head_turn"])
  if (row["checkpoint_id"] !== null) found.checkpointId = KeyText.decode(row["checkpoint_id"]) as Session.CheckpointId
  return Either.right(found)
}

/**
 * From the columns of `Statements.turnColumns`.
 *
 * @category conversions
 */
export const turn = (row: Row): Decoded<Session.SessionTurn> => read(turnCodec, row, "body", "body_data")

/**
 * From the columns of `Statements.checkpointColumns`.
 *
 * @category conversions
 */
export const checkpoint = (row: Row): Decoded<Session.SessionCheckpoint> =>
  Either.flatMap(read(factsCodec, row, "body", "body_data"), (facts) =>
    Either.map(read(checkpointState, row, "state", "state_data"), (state) => ({
      ...facts,
      state: { ...facts.state, ...state }
    }))
  )
