/**
 * Creates a session that continues from the head or a checkpoint of another session.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { SessionId, type TurnId } from "../../domain/Ids.js"
import * as JsonCopy from "../../memory/entry/JsonCopy.js"
import type * as SessionWriter from "../manager/SessionWriter.js"
import { type Ancestor, CheckpointId, type Session, type SessionState, stateOf } from "../turn/Session.js"
import {
  type CheckpointNotFoundError,
  SessionCapacityError,
  SessionInputError,
  SessionNotFoundError,
  SessionStorageError
} from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import * as BranchManager from "./BranchManager.js"

/**
 * The maximum number of sessions on the path to a branch: its record lists each of them.
 *
 * @category constants
 */
const maxLineage = 256

/**
 * @category models
 */
export interface Options extends SessionWriter.Access {
  readonly id?: SessionId | undefined
  readonly branchName?: string | undefined
  readonly fromCheckpoint?: CheckpointId | undefined
  readonly afterTurn?: TurnId | undefined
  readonly metadata?: { readonly [key: string]: unknown } | undefined
}

const isSessionId = Schema.is(SessionId)

const cannotBeKept = (field: string, hint: string): SessionInputError =>
  new SessionInputError({ message: `The branch cannot be stored: ${field} is out of bounds`, hint })

const idTaken = (sessionId: SessionId): SessionNotFoundError =>
  new SessionNotFoundError({
    message: "The session has no such branch",
    hint: "The id belongs to another session, or to a deleted one whose turns a branch still needs: choose another id",
    sessionId
  })

/** Where a branch begins, and the state at that point. */
interface Origin {
  readonly state: SessionState
  /** When the source was in this state. */
  readonly at: number
  /** The checkpoint the source was on. */
  readonly checkpointId: CheckpointId | undefined
}

const noTurn = new SessionInputError({
  message: "The session has no such turn",
  hint: "Choose a turn that this session wrote itself; a turn before its fork is one of the session it was forked from"
})

const twoPlaces = new SessionInputError({
  message: "The branch would begin at two places",
  hint: "Give a checkpoint or a turn, not both"
})

/** The state of the session with the turns up to one of its own. */
const stateAfter = Effect.fnUntraced(function* (store: SessionStore.Service, source: Session, turnId: TurnId) {
  const head = { sessionId: source.id, turnId }
  const found = yield* store.turn(head)
  if (Option.isNone(found)) return yield* noTurn
  const { depth, timestamp: at } = found.value
  const turns = yield* store.turns(head, { limit: depth })
  const state: SessionState = {
    ...stateOf(source),
    head,
    depth,
    totalTokens: turns.reduce((sum, { tokensUsed }) => sum + tokensUsed, 0),
    totalCost: turns.reduce((sum, { cost }) => sum + cost, 0),
    cuts: source.cuts.filter(({ before }) => before <= at)
  }
  return { state, at, checkpointId: undefined }
})

const originOf = (
  store: SessionStore.Service,
  source: Session,
  from: CheckpointId | undefined,
  now: number
): Effect.Effect<Origin, CheckpointNotFoundError | SessionStorageError> =>
  from === undefined
    ? Effect.succeed({ state: source, at: now, checkpointId: source.checkpointId })
    : Effect.flatMap(store.checkpoint(from), (found) =>
        Option.isSome(found) && found.value.sessionId === source.id
          ? Effect.succeed({ state: found.value.state, at: found.value.createdAt, checkpointId: found.value.id })
          : Effect.fail(BranchManager.noCheckpoint(from))
      )

/** `undefined`: the turn is deleted, and so is the source. */
const lineageOf = (
  store: SessionStore.Service,
  source: Session,
  { cuts, depth, head }: SessionState
): Effect.Effect<ReadonlyArray<Ancestor> | undefined, SessionStorageError> => {
  if (head === undefined) return Effect.succeed([])
  // The path ends among the turns that the source itself was forked with.
  if (head.sessionId !== source.id) return Effect.succeed(source.lineage)
  return Effect.map(store.turn(head), (found) =>
    Option.isNone(found)
      ? undefined
      : [
          ...source.lineage,
          { sessionId: head.sessionId, turnId: head.turnId, depth, until: found.value.timestamp, cuts }
        ]
  )
}

const tooDeep = new SessionCapacityError({
  message: `The branch would begin with turns of more than ${maxLineage} sessions`,
  hint: "Merge branches back, or start a new session with a summary",
  detail: "nested branches"
})

type Failure =
  | SessionNotFoundError
  | CheckpointNotFoundError
  | SessionCapacityError
  | SessionInputError
  | SessionStorageError

/**
 * Stores the branch and its checkpoint of kind `fork` in one step; the checkpoint has the time of the source state.
 *
 * @category constructors
 */
export const make = (
  writer: SessionWriter.Service,
  limits: SessionStore.Limits
): ((
  sourceId: SessionId,
  options: Options | undefined,
  written: SessionTelemetry.Written<SessionStore.Created>
) => Effect.Effect<SessionStore.Created, Failure>) => {
  const { find, store, writes } = writer
  return Effect.fnUntraced(function* (sourceId, options, written) {
    const { afterTurn, branchName, fromCheckpoint, id: given } = options ?? {}
    if (afterTurn !== undefined && fromCheckpoint !== undefined) return yield* twoPlaces
    if (given !== undefined && !isSessionId(given)) {
      return yield* cannotBeKept("id", "An id has 1 to 256 characters without control characters")
    }
    const metadata = options?.metadata === undefined ? undefined : JsonCopy.copy(options.metadata)
    if (options?.metadata !== undefined && metadata === undefined) {
      return yield* cannotBeKept("metadata", "It must be plain JSON data")
    }
    const source = yield* find(sourceId, options)
    const now = yield* Clock.currentTimeMillis
    const origin = yield* afterTurn === undefined
      ? originOf(store, source, fromCheckpoint, now)
      : stateAfter(store, source, afterTurn)
    const lineage = yield* lineageOf(store, source, origin.state)
    // The source was deleted in the meantime: it counts as not found.
    if (lineage === undefined) return yield* Effect.zipRight(find(sourceId, options), Effect.fail(sourceDeleted))
    if (lineage.length > maxLineage) return yield* tooDeep
    const id = given ?? SessionId.make(yield* IdGenerator.generate)
    const checkpointId = CheckpointId.make(yield* IdGenerator.generate)
    const session: Session = {
      id,
      ...(source.userId === undefined ? {} : { userId: source.userId }),
      ...stateOf(origin.state),
      ...(metadata === undefined ? {} : { metadata }),
      status: "active",
      cuts: [],
      createdAt: now,
      updatedAt: now,
      revision: 0,
      checkpointId,
      parentSessionId: source.id,
      rootSessionId: source.rootSessionId ?? source.id,
      ...(branchName === undefined ? {} : { branchName }),
      lineage
    }
    const created = yield* Effect.catchTag(
      SessionTelemetry.reportWritten(
        writes.create({
          session,
          checkpoint: {
            id: checkpointId,
            sessionId: id,
            kind: "fork",
            state: stateOf(session),
            createdAt: origin.at,
            revision: 0,
            ...(origin.checkpointId === undefined ? {} : { parentCheckpointId: origin.checkpointId }),
            ...(origin.state.cuts.length === 0 ? {} : { sourceCuts: origin.state.cuts }),
            metadata: {}
          },
          limits
        }),
        written
      ),
      "SessionConflictError",
      () => Effect.zipRight(find(sourceId, options), Effect.fail(idTaken(id)))
    )
    const { parentSessionId, userId } = created.session
    if (parentSessionId !== source.id || userId !== source.userId) return yield* idTaken(id)
    return created
  })
}

const sourceDeleted = new SessionStorageError({
  message: "The newest turn of the session is missing",
  hint: "The store has lost it; fork from an earlier checkpoint"
})
