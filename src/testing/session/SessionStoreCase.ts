/**
 * What the cases of `SessionStoreSuite` are made of.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { YieldWrap } from "effect/Utils"
import { SessionId, TurnId, UserId } from "../../domain/Ids.js"
import type { Ancestor, Session, SessionCheckpoint, SessionTurn, TurnRef } from "../../session/turn/Session.js"
import { CheckpointId, stateOf } from "../../session/turn/Session.js"
import { SessionConflictError } from "../../session/turn/SessionError.js"
import * as SessionStore from "../../session/turn/SessionStore.js"
import type * as PortSuite from "../suite/PortSuite.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"

/**
 * One promise and how it is tried. It expects a store that is empty.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<SessionStore.SessionStore>

/**
 * What time it is when a case begins, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category constants
 */
export const epoch = 1_750_000_000_000

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  name: string,
  body: (store: SessionStore.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, test: Effect.flatMap(SessionStore.SessionStore, (store) => Effect.gen(() => body(store))) })

/**
 * @since 0.1.0
 * @category constructors
 */
export const sessionId = (id: string): SessionId => SessionId.make(id)
/**
 * @since 0.1.0
 * @category constructors
 */
export const userId = (id: string): UserId => UserId.make(id)
/**
 * @since 0.1.0
 * @category constructors
 */
export const checkpointId = (id: string): CheckpointId => CheckpointId.make(id)
/**
 * @since 0.1.0
 * @category constructors
 */
export const ref = (session: string, turn: string): TurnRef => ({
  sessionId: SessionId.make(session),
  turnId: TurnId.make(turn)
})

/**
 * Those that tell two turns apart.
 *
 * @since 0.1.0
 * @category getters
 */
export const refOf = (turn: SessionTurn): TurnRef => ({ sessionId: turn.sessionId, turnId: turn.id })

/**
 * @since 0.1.0
 * @category models
 */
export interface Fields extends Partial<Omit<Session, "id" | "userId" | "parentSessionId" | "rootSessionId">> {
  readonly userId?: string | undefined
  readonly parentSessionId?: string | undefined
  readonly rootSessionId?: string | undefined
}

/**
 * An active session of `ann` from `epoch`, without turns.
 *
 * @since 0.1.0
 * @category constructors
 */
export const session = (id: string, fields: Fields = {}): Session => ({
  ...defined({
    userId: "ann",
    status: "active",
    metadata: {},
    activeTools: [],
    activeSkills: [],
    variables: {},
    depth: 0,
    totalTokens: 0,
    totalCost: 0,
    cuts: [],
    createdAt: epoch,
    updatedAt: epoch,
    revision: 0,
    lineage: [],
    ...fields
  } as Fields as Session),
  id: SessionId.make(id)
})

/** Fields that are `undefined` are none. */
const defined = <A extends object>(value: A): A =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as A

/**
 * A session as it shall be next.
 *
 * @since 0.1.0
 * @category constructors
 */
export const next = (session: Session, change: Partial<Session> = {}): Session =>
  defined({ ...session, ...change, revision: session.revision + 1 })

/**
 * Turns that go on where a session stands, one a millisecond, of one token each.
 *
 * @since 0.1.0
 * @category constructors
 */
export const turnsOf = (session: Session, ids: ReadonlyArray<string>): ReadonlyArray<SessionTurn> =>
  ids.map((id, at) => {
    const before = ids[at - 1]
    const parent = before === undefined ? session.head : ref(session.id, before)
    const depth = session.depth + at + 1
    return {
      id: TurnId.make(id),
      role: depth % 2 === 1 ? "user" : "assistant",
      content: `${id} of ${session.id}`,
      timestamp: session.updatedAt + at + 1,
      toolCalls: [],
      skillResults: [],
      metadata: {},
      tokensUsed: 1,
      cost: 0.5,
      sessionId: session.id,
      ...(parent === undefined ? undefined : { parent }),
      depth
    }
  })

/**
 * A session with these turns behind its head.
 *
 * @since 0.1.0
 * @category constructors
 */
export const behind = (session: Session, turns: ReadonlyArray<SessionTurn>): Session => {
  const last = turns[turns.length - 1] as SessionTurn
  return next(session, {
    head: refOf(last),
    depth: last.depth,
    totalTokens: session.totalTokens + turns.reduce((sum, one) => sum + one.tokensUsed, 0),
    totalCost: session.totalCost + turns.reduce((sum, one) => sum + one.cost, 0),
    updatedAt: last.timestamp
  })
}

/**
 * A checkpoint of a session as it is.
 *
 * @since 0.1.0
 * @category constructors
 */
export const checkpoint = (
  id: string,
  session: Session,
  fields: Partial<Omit<SessionCheckpoint, "id">> = {}
): SessionCheckpoint => ({
  sessionId: session.id,
  kind: "manual",
  state: stateOf(session),
  createdAt: session.updatedAt,
  revision: session.revision,
  ...(session.checkpointId === undefined ? undefined : { parentCheckpointId: session.checkpointId }),
  metadata: {},
  ...fields,
  id: CheckpointId.make(id)
})

/**
 * Keeps a new session, and gives it.
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
 * Puts turns behind the head, and gives the session as it is then.
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
 * Saves a session as it shall be next, and gives it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const saved = (store: SessionStore.Service, session: Session, change: Partial<Session> = {}) => {
  const after = next(session, change)
  return Effect.as(store.save({ session: after }), after)
}

/**
 * Saves a session with a checkpoint, and gives it.
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
 * Where a fork of a session at one of the turns on its way comes from.
 *
 * @since 0.1.0
 * @category getters
 */
export const lineageAt = (session: Session, turn: SessionTurn): ReadonlyArray<Ancestor> => {
  const place = { ...refOf(turn), depth: turn.depth, until: turn.timestamp }
  const at = session.lineage.findIndex((ancestor) => ancestor.sessionId === turn.sessionId)
  return at < 0
    ? [...session.lineage, { ...place, cuts: session.cuts }]
    : [...session.lineage.slice(0, at), { ...(session.lineage[at] as Ancestor), ...place }]
}

/**
 * A branch of a session that begins with the turns up to one on its way.
 *
 * @since 0.1.0
 * @category constructors
 */
export const branch = (id: string, parent: Session, turn: SessionTurn, fields: Fields = {}): Session =>
  session(id, {
    userId: parent.userId,
    parentSessionId: parent.id,
    rootSessionId: parent.rootSessionId ?? parent.id,
    branchName: id,
    head: refOf(turn),
    depth: turn.depth,
    totalTokens: turn.depth,
    totalCost: turn.depth / 2,
    lineage: lineageAt(parent, turn),
    ...fields
  })

/**
 * Forks a session at its head or at a turn on its way, as a manager does it, with a checkpoint, and gives the branch.
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
 * Takes a session back to one of its checkpoints, as a manager does it, and gives it.
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
 * Throws when there is none.
 *
 * @since 0.1.0
 * @category getters
 */
export const some = <A>(option: Option.Option<A>, what: string): A => {
  holds(Option.isSome(option), what, "none")
  return option.value
}

/**
 * Throws unless the session is kept exactly so.
 *
 * @since 0.1.0
 * @category assertions
 */
export const isKept = (store: SessionStore.Service, session: Session, what = `${session.id} as it is kept`) =>
  Effect.map(store.load(session.id), (found) => equal(Option.getOrUndefined(found), session, what))

/**
 * Ids of what is given.
 *
 * @since 0.1.0
 * @category getters
 */
export const idsOf = (items: ReadonlyArray<{ readonly id: string }>): ReadonlyArray<string> =>
  items.map((one) => one.id)

/**
 * The ids of the newest turns on the way that ends with a turn, oldest first; as good as all of them.
 *
 * @since 0.1.0
 * @category getters
 */
export const wayTo = (store: SessionStore.Service, head: TurnRef | undefined) =>
  head === undefined ? Effect.succeed([]) : Effect.map(store.turns(head, { limit: 1000 }), idsOf)

/**
 * Throws unless the turns of a session that stay are these.
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
 * Throws unless it fails with a `SessionConflictError`.
 *
 * @since 0.1.0
 * @category assertions
 */
export const conflicts = (effect: Effect.Effect<unknown, { readonly _tag: string }>, what: string) =>
  Effect.map(failure(effect, what), (error) => equal(error._tag, "SessionConflictError", what))

/**
 * Throws unless it fails with a `SessionCapacityError`.
 *
 * @since 0.1.0
 * @category assertions
 */
export const refuses = (effect: Effect.Effect<unknown, { readonly _tag: string }>, what: string) =>
  Effect.map(failure(effect, what), (error) => equal(error._tag, "SessionCapacityError", what))

/**
 * Reads a session, and writes what is made of it until nobody else was faster. Gives what was written last.
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
    // Others read the same before this one writes.
    yield* Effect.yieldNow()
    const isWritten = yield* Effect.as(write(found), true).pipe(
      Effect.catchIf(
        (error) => error instanceof SessionConflictError,
        () => Effect.as(Effect.yieldNow(), false)
      )
    )
    return isWritten ? found : yield* retried(store, id, write)
  })

/**
 * Names that are dangerous somewhere: in keys, paths, patterns, SQL, objects.
 *
 * @since 0.1.0
 * @category constants
 */
export const hostileIds: ReadonlyArray<string> = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "a",
  "A",
  "aa",
  "a ",
  " a",
  "a:b",
  "a:b:c",
  "a/b",
  "a%",
  "a%3Ab",
  "a_b",
  "a.b",
  "a*",
  "a\\b",
  ".",
  "..",
  "../a",
  "CON",
  "null",
  "a'b\"c",
  "a'; DELETE FROM sessions; --",
  "{a}",
  "[1]",
  "é",
  "e\u0301",
  "ﬁ",
  "fi",
  "İ",
  "日本\u{1f600}",
  "\u202ea",
  "x".repeat(256),
  `${"x".repeat(255)}y`,
  "\u{1f600}".repeat(128)
]
