/**
 * Computes the difference between two checkpoints of a session tree, including turns.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as SessionWriter from "../manager/SessionWriter.js"
import type { CheckpointId, Session, SessionCheckpoint } from "../turn/Session.js"
import { type CheckpointNotFoundError, SessionMergeError, type SessionStorageError } from "../turn/SessionError.js"
import * as StateDiff from "../turn/StateDiff.js"
import * as BranchManager from "./BranchManager.js"
import * as CommonTurn from "./CommonTurn.js"

type Side = { readonly session: Session; readonly checkpoint: SessionCheckpoint }

const sideOf = (
  { find, store }: SessionWriter.Service,
  id: CheckpointId,
  access: SessionWriter.Access | undefined
): Effect.Effect<Side, CheckpointNotFoundError | SessionStorageError> =>
  Effect.gen(function* () {
    const found = yield* store.checkpoint(id)
    if (Option.isNone(found)) return yield* BranchManager.noCheckpoint(id)
    const checkpoint = found.value
    const session = yield* Effect.catchTag(find(checkpoint.sessionId, access), "SessionNotFoundError", () =>
      Effect.fail(BranchManager.noCheckpoint(id))
    )
    return { session, checkpoint }
  })

const unrelated = (one: Session, other: Session): SessionMergeError =>
  new SessionMergeError({
    message: "The checkpoints belong to different session trees",
    hint: "Compare checkpoints of one session, or of sessions that were forked from one another",
    sessionId: one.id,
    branchSessionId: other.id,
    reason: "unrelated",
    variables: []
  })

/**
 * @category constructors
 */
export const make =
  (writer: SessionWriter.Service) =>
  (
    fromId: CheckpointId,
    toId: CheckpointId,
    access: SessionWriter.Access | undefined
  ): Effect.Effect<StateDiff.StateDiff, CheckpointNotFoundError | SessionMergeError | SessionStorageError> =>
    Effect.gen(function* () {
      const { store } = writer
      const from = yield* sideOf(writer, fromId, access)
      const to = yield* sideOf(writer, toId, access)
      const [one, other] = [from.session, to.session]
      if (one.userId !== other.userId || (one.rootSessionId ?? one.id) !== (other.rootSessionId ?? other.id)) {
        return yield* unrelated(one, other)
      }
      const [before, after] = [from.checkpoint.state, to.checkpoint.state]
      const common = yield* CommonTurn.common(
        store,
        CommonTurn.pathOf(from.session, before),
        CommonTurn.pathOf(to.session, after)
      )
      const since = common?.depth ?? 0
      const removed = yield* CommonTurn.turnsAfter(store, before, since)
      const added = yield* CommonTurn.turnsAfter(store, after, since)
      return StateDiff.compute(before, after, {
        removed: removed.map(({ id, sessionId }) => ({ sessionId, turnId: id })),
        added
      })
    })
