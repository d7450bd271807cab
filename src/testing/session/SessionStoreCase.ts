/**
 * Building blocks of the cases of `SessionStoreSuite`.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { YieldWrap } from "effect/Utils"
import { SessionId } from "../../domain/Ids.js"
import type { Session, SessionCheckpoint, TurnRef } from "../../session/turn/Session.js"
import { CheckpointId } from "../../session/turn/Session.js"
import { SessionConflictError } from "../../session/turn/SessionError.js"
import * as SessionStore from "../../session/turn/SessionStore.js"
import type * as PortSuite from "../suite/PortSuite.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"
import { behind, branch, checkpoint, next, ref, turnsOf } from "./SessionFixtures.js"

/**
 * One promise of the port and its test. It requires an empty store.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<SessionStore.SessionStore>

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  name: string,
  body: (store: SessionStore.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, test: Effect.flatMap(SessionStore.SessionStore, (store) => Effect.gen(() => body(store))) })

/**
 * Creates a session and returns it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const created = (store: SessionStore.Service, session: Session) =>
  Effect.map(store.create({ session }), (created) => {
    holds(created.isNew, `${session.id} is new`)
    return session
  })

/**
 * Appends turns to the head and returns the session after them.
 *
 * @since 0.1.0
 * @category combinators
 */
export const said = (store: SessionStore.Service, session: Session, ...ids: ReadonlyArray<string>) => {
  const turns = turnsOf(session, ids)
  const after = behind(session, turns)
  return Effect.map(store.append({ session: after, turns }), (known) => {
    equal(known, [], `turns of ${session.id} that were known`)
    return after
  })
}

/**
 * Saves the next revision of a session and returns it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const saved = (store: SessionStore.Service, session: Session, change: Partial<Session> = {}) => {
  const after = next(session, change)
  return Effect.as(store.save({ session: after }), after)
}

/**
 * Saves a session with a checkpoint and returns it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const checkpointed = (
  store: SessionStore.Service,
  session: Session,
  id: string,
  fields: Partial<Omit<SessionCheckpoint, "id">> = {},
  keepCheckpoints?: number
) => {
  const after = next(session, { checkpointId: CheckpointId.make(id) })
  return Effect.as(store.save({ session: after, checkpoint: checkpoint(id, after, fields), keepCheckpoints }), after)
}

/**
 * Forks a session at its head or at an earlier turn with a checkpoint, like a session manager, and returns the branch.
 *
 * @since 0.1.0
 * @category combinators
 */
export const forked = (
  store: SessionStore.Service,
  parent: Session,
  id: string,
  at: TurnRef | undefined = parent.head
) =>
  Effect.gen(function* () {
    const turn = some(yield* store.turn(at ?? ref("none", "none")), `the turn ${id} is forked at`)
    const checkpointId = CheckpointId.make(`fork of ${id}`)
    const one = branch(id, parent, turn, { checkpointId })
    yield* store.create({ session: one, checkpoint: checkpoint(checkpointId, one, { kind: "fork" }) })
    return one
  })

/**
 * Restores a session to one of its checkpoints, like a session manager, and returns it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const restored = (store: SessionStore.Service, session: Session, id: string) =>
  Effect.gen(function* () {
    const { state } = some(yield* store.checkpoint(CheckpointId.make(id)), `the checkpoint ${id}`)
    const cuts = [...state.cuts, { after: 0, before: session.updatedAt + 1 }]
    return yield* saved(store, session, {
      ...state,
      head: state.head,
      status: session.status,
      cuts,
      checkpointId: CheckpointId.make(id),
      updatedAt: session.updatedAt + 1
    })
  })

/**
 * Throws if there is no value.
 *
 * @since 0.1.0
 * @category getters
 */
export const some = <A>(option: Option.Option<A>, what: string): A => {
  holds(Option.isSome(option), what, "none")
  return option.value
}

/**
 * Throws unless exactly this session is stored.
 *
 * @since 0.1.0
 * @category assertions
 */
export const isKept = (store: SessionStore.Service, session: Session, what = `${session.id} as it is kept`) =>
  Effect.map(store.load(session.id), (found) => equal(Option.getOrUndefined(found), session, what))

/**
 * The ids of the items.
 *
 * @since 0.1.0
 * @category getters
 */
export const idsOf = (items: ReadonlyArray<{ readonly id: string }>): ReadonlyArray<string> =>
  items.map((one) => one.id)

/**
 * Ids of up to 1000 turns of the lineage of a head, oldest first.
 *
 * @since 0.1.0
 * @category getters
 */
export const wayTo = (store: SessionStore.Service, head: TurnRef | undefined) =>
  head === undefined ? Effect.succeed([]) : Effect.map(store.turns(head, { limit: 1000 }), idsOf)

/**
 * Throws unless exactly these turns of a session remain.
 *
 * @since 0.1.0
 * @category assertions
 */
export const turnsKept = (
  store: SessionStore.Service,
  session: string,
  all: ReadonlyArray<string>,
  kept: ReadonlyArray<string>
) =>
  Effect.map(
    Effect.filter(all, (id) => Effect.map(store.turn(ref(session, id)), Option.isSome)),
    (found) => equal(found, kept, `turns of ${session} that are kept`)
  )

/**
 * Throws unless the effect fails with a `SessionConflictError`.
 *
 * @since 0.1.0
 * @category assertions
 */
export const conflicts = (effect: Effect.Effect<unknown, { readonly _tag: string }>, what: string) =>
  Effect.map(failure(effect, what), (error) => equal(error._tag, "SessionConflictError", what))

/**
 * Throws unless the effect fails with a `SessionCapacityError`.
 *
 * @since 0.1.0
 * @category assertions
 */
export const refuses = (effect: Effect.Effect<unknown, { readonly _tag: string }>, what: string) =>
  Effect.map(failure(effect, what), (error) => equal(error._tag, "SessionCapacityError", what))

/**
 * Reads a session and writes a change of it until no other writer is faster. Returns the session that was changed last.
 *
 * @since 0.1.0
 * @category combinators
 */
export const retried = <E>(
  store: SessionStore.Service,
  id: string,
  write: (session: Session) => Effect.Effect<unknown, E | SessionConflictError>
): Effect.Effect<Session, unknown> =>
  Effect.gen(function* () {
    const found = some(yield* store.load(SessionId.make(id)), id)
    // Lets others read the same revision before this one writes.
    yield* Effect.yieldNow()
    const isWritten = yield* Effect.as(write(found), true).pipe(
      Effect.catchIf(
        (error) => error instanceof SessionConflictError,
        () => Effect.as(Effect.yieldNow(), false)
      )
    )
    return isWritten ? found : yield* retried(store, id, write)
  })
