/**
 * Merges one session into another: finds what is new, asks the strategy, and writes the result in one step.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { SessionId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as JsonCopy from "../../memory/entry/JsonCopy.js"
import * as SessionChange from "../manager/SessionChange.js"
import * as SessionCheckpoints from "../manager/SessionCheckpoints.js"
import type * as SessionWriter from "../manager/SessionWriter.js"
import { type Session, type SessionCheckpoint, type SessionState, type SessionTurn, stateOf } from "../turn/Session.js"
import {
  SessionCapacityError,
  type SessionClosedError,
  type SessionExpiredError,
  SessionMergeError,
  type SessionNotFoundError,
  SessionStorageError,
  SessionTransitionError
} from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import type * as SessionTelemetry from "../turn/SessionTelemetry.js"
import * as StateValues from "../turn/StateValues.js"
import * as CommonTurn from "./CommonTurn.js"
import * as MergeBase from "./MergeBase.js"
import type { Mergeable, MergeStrategy, Merging, Plan, Resolved } from "./MergeStrategy.js"
import * as TurnCopies from "./TurnCopies.js"

/**
 * @category models
 */
export interface Settings {
  readonly maxTurns: number
  /** Milliseconds; infinite for never. */
  readonly ttl: number
}

/**
 * @category models
 */
export interface Merged {
  readonly session: Session
  readonly checkpoint?: SessionCheckpoint | undefined
  readonly turns: ReadonlyArray<SessionTurn>
  readonly conflicts: ReadonlyArray<Resolved>
  readonly isNew: boolean
}

/**
 * @category models
 */
export type Failure =
  | SessionNotFoundError
  | SessionClosedError
  | SessionExpiredError
  | SessionTransitionError
  | SessionCapacityError
  | SessionMergeError
  | SessionStorageError

const refused = (
  into: SessionId,
  from: SessionId,
  reason: SessionMergeError["reason"],
  message: string,
  hint: string
): SessionMergeError =>
  new SessionMergeError({ message, hint, sessionId: into, branchSessionId: from, reason, variables: [] })

const fieldsOf = (state: Mergeable): Mergeable => ({
  variables: state.variables,
  metadata: state.metadata,
  activeTools: state.activeTools,
  activeSkills: state.activeSkills,
  ...(state.systemPrompt === undefined ? {} : { systemPrompt: state.systemPrompt })
})

const nothing: Mergeable = { variables: {}, metadata: {}, activeTools: [], activeSkills: [] }

/** A merge to be planned, of two sessions as they are. */
interface Prepared {
  readonly merging: Merging
  /** Earlier merges of the two have earlier times. */
  readonly notBefore: number
}

const prepare = (
  store: SessionStore.Service,
  into: Session,
  from: Session
): Effect.Effect<Prepared, SessionStorageError> =>
  Effect.gen(function* () {
    const common = yield* CommonTurn.common(store, CommonTurn.pathOf(into, into), CommonTurn.pathOf(from, from))
    const since = common?.depth ?? 0
    const all = yield* CommonTurn.turnsAfter(store, from, since)
    const here = new Set(
      all.length === 0 ? [] : (yield* CommonTurn.turnsAfter(store, into, since)).map(TurnCopies.identityOf)
    )
    const { at, state } = yield* MergeBase.find(store, into, from)
    return {
      merging: {
        into,
        from,
        base: state === undefined ? nothing : fieldsOf(state),
        turns: all.filter((turn) => !here.has(TurnCopies.identityOf(turn))),
        known: all.filter((turn) => here.has(TurnCopies.identityOf(turn)))
      },
      notBefore: at + 1
    }
  })

const refs = (turns: ReadonlyArray<SessionTurn>): ReadonlyArray<string> =>
  turns.map(({ id, sessionId }) => TurnCopies.keyOf({ sessionId, turnId: id }))

/** Whether two inputs ask a strategy the same question. */
const isSame = (one: Merging, other: Merging): boolean =>
  StateValues.equal(
    [fieldsOf(one.into), one.base, refs(one.turns), refs(one.known)],
    [fieldsOf(other.into), other.base, refs(other.turns), refs(other.known)]
  )

/** The checked result of a plan; any strategy may have made it. */
interface Outcome {
  readonly turns: ReadonlyArray<SessionTurn>
  readonly fields: Mergeable
  /** The settled state of the branch, from which the next merge starts. */
  readonly settled: SessionState
  readonly conflicts: ReadonlyArray<Resolved>
  /** Whether the session's small state changes, and whether there is anything to write. */
  readonly isChanged: boolean
  readonly isNew: boolean
}

const areNames = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((name) => typeof name === "string")

const withPrompt = <A extends { readonly systemPrompt?: string | undefined }>(
  state: A,
  systemPrompt: string | undefined
): A => {
  const { systemPrompt: _, ...rest } = state
  return (systemPrompt === undefined ? rest : { ...rest, systemPrompt }) as A
}

const outcomeOf = (merging: Merging, plan: Plan): Effect.Effect<Outcome, SessionMergeError> =>
  Effect.suspend(() => {
    const { base, from, into } = merging
    const wanted = new Set(refs(plan.turns))
    const turns = merging.turns.filter(({ id, sessionId }) => wanted.has(TurnCopies.keyOf({ sessionId, turnId: id })))
    if (turns.length < wanted.size) {
      return Effect.fail(
        refused(
          into.id,
          from.id,
          "unknown_turn",
          "The plan of the strategy contains turns that were not offered",
          "Return some of the offered turns, unchanged"
        )
      )
    }
    const given = plan.state ?? {}
    const variables = given.variables === undefined ? into.variables : JsonCopy.copy(given.variables)
    const metadata = given.metadata === undefined ? into.metadata : JsonCopy.copy(given.metadata)
    const { activeSkills = into.activeSkills, activeTools = into.activeTools } = given
    const prompt = given.systemPrompt === undefined ? into.systemPrompt : Option.getOrUndefined(given.systemPrompt)
    if (
      variables === undefined ||
      metadata === undefined ||
      !areNames(activeTools) ||
      !areNames(activeSkills) ||
      !(prompt === undefined || typeof prompt === "string")
    ) {
      return Effect.fail(
        refused(
          into.id,
          from.id,
          "resolver",
          "The merged state cannot be stored",
          `Variables and metadata are plain data of at most ${JsonCopy.maxDepth} levels and ${JsonCopy.maxValues} values`
        )
      )
    }
    const fields = withPrompt({ ...nothing, variables, metadata, activeTools, activeSkills }, prompt)
    const settled = withPrompt(
      {
        ...stateOf(from),
        variables: given.variables === undefined ? base.variables : from.variables,
        metadata: given.metadata === undefined ? base.metadata : from.metadata,
        activeTools: given.activeTools === undefined ? base.activeTools : from.activeTools,
        activeSkills: given.activeSkills === undefined ? base.activeSkills : from.activeSkills
      },
      given.systemPrompt === undefined ? base.systemPrompt : from.systemPrompt
    )
    const isChanged = !StateValues.equal(fields, fieldsOf(into))
    return Effect.succeed({
      turns,
      fields,
      settled,
      conflicts: plan.conflicts ?? [],
      isChanged,
      // A change of the branch is recorded even when it makes no difference, so that it is not decided again.
      isNew: turns.length > 0 || isChanged || !StateValues.equal(fieldsOf(settled), base)
    })
  })

const suspended = (sessionId: SessionId): SessionTransitionError =>
  new SessionTransitionError({
    message: "The session is suspended and cannot be merged into",
    hint: "Resume it first",
    sessionId,
    fromStatus: "suspended",
    toStatus: "active"
  })

const refusalOf = (session: Session, ttl: number, now: number) => {
  const ended = SessionChange.refusal(session)
  if (ended !== undefined) return ended
  if (session.updatedAt <= now - ttl) return SessionChange.expired(session.id)
  return session.status === "suspended" ? suspended(session.id) : undefined
}

const full = (maxTurns: number): SessionCapacityError =>
  new SessionCapacityError({
    message: `With the turns of the branch the session would have more than ${maxTurns}`,
    hint: "Merge some of them (`MergeStrategy.selective`), or allow more turns (`maxTurnsPerSession`)",
    detail: "turns of a session"
  })

type Written =
  | { readonly _tag: "Merged"; readonly merged: Merged }
  /** The session changed, so the strategy must decide again. */
  | { readonly _tag: "Changed" }
  /** Turns with these ids were copied before and then removed from the path by a restore. */
  | { readonly _tag: "Taken" }

const changed: Written = { _tag: "Changed" }

const write = (
  store: SessionStore.Service,
  settings: Settings,
  strategy: string,
  session: Session,
  now: number,
  { merging: { from }, notBefore }: Prepared,
  { conflicts, fields, isChanged, isNew, settled, turns }: Outcome,
  salt: string | undefined
): Effect.Effect<SessionWriter.Decision<Written>, SessionCapacityError | SessionStorageError> =>
  Effect.gen(function* () {
    const keep = (merged: Merged): Written => ({ _tag: "Merged", merged })
    if (!isNew) return { _tag: "Keep", value: keep({ session, turns: [], conflicts, isNew: false }) } as const
    if (session.depth + turns.length > settings.maxTurns && turns.length > 0) return yield* full(settings.maxTurns)
    const copies =
      turns.length === 0 ? [] : TurnCopies.make(session, turns, yield* TurnCopies.startOf(store, session, now), salt)
    const last = copies[copies.length - 1]
    const grown: Session = SessionChange.next(withPrompt(session, undefined), now, {
      ...fields,
      ...(last === undefined ? {} : { head: { sessionId: session.id, turnId: last.id } }),
      depth: session.depth + copies.length,
      totalTokens: copies.reduce(
        (sum, copy) => Math.min(Number.MAX_SAFE_INTEGER, sum + copy.tokensUsed),
        session.totalTokens
      ),
      totalCost: copies.reduce((sum, copy) => Math.min(Number.MAX_VALUE, sum + copy.cost), session.totalCost)
    })
    const made = yield* SessionCheckpoints.make(grown, {
      kind: "merge",
      now: Math.max(now, notBefore),
      parent: session.checkpointId
    })
    const checkpoint: SessionCheckpoint = {
      ...made,
      merge: {
        sessionId: from.id,
        strategy,
        ...(session.head === undefined ? {} : { ours: session.head }),
        ...(from.head === undefined ? {} : { theirs: from.head }),
        state: settled
      }
    }
    const next: Session = { ...grown, checkpointId: checkpoint.id }
    const value = keep({ session: next, checkpoint, turns: copies, conflicts, isNew: true })
    if (copies.length === 0) return { _tag: "Save", value, change: { session: next, checkpoint } } as const
    return {
      _tag: "Append",
      value,
      addition: { session: next, turns: copies, checkpoint, ...(isChanged ? { isStateChanged: true } : {}) },
      known: () => Effect.succeed<Written>({ _tag: "Taken" })
    } as const
  })

/** Each time another writer changed the input of the strategy. */
const maxAttempts = 200

const busy = new SessionStorageError({
  message: `Other writers changed the session ${maxAttempts} times during the merge`,
  hint: "Try again later"
})

/**
 * The strategy decides without holding a lock. If another writer changed the session in the meantime, the strategy
 * decides again only when its input differs.
 *
 * @category constructors
 */
export const make = (writer: SessionWriter.Service, settings: Settings) => {
  const { find, store } = writer
  return <E, R>(
    intoId: SessionId,
    fromId: SessionId,
    strategy: MergeStrategy<E, R>,
    access: SessionWriter.Access | undefined,
    tell: SessionTelemetry.Written<Merged>
  ): Effect.Effect<Merged, Failure | E, R> =>
    Effect.gen(function* () {
      let salt: string | undefined
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const into = yield* find(intoId, access)
        const from = yield* find(fromId, access)
        if (into.id === from.id) {
          return yield* refused(intoId, fromId, "same", "A session cannot be merged into itself", "Name a branch")
        }
        if (into.userId !== from.userId || (into.rootSessionId ?? into.id) !== (from.rootSessionId ?? from.id)) {
          return yield* refused(
            intoId,
            fromId,
            "unrelated",
            "The sessions belong to different trees",
            "Merge sessions that were forked from one another, or from a common session"
          )
        }
        const clock = yield* Effect.clock
        const refusal = refusalOf(into, settings.ttl, clock.unsafeCurrentTimeMillis())
        if (refusal !== undefined) return yield* refusal
        const seen = yield* prepare(store, into, from)
        const outcome = yield* Effect.flatMap(SystemAccess.drop(strategy.merge(seen.merging)), (plan) =>
          outcomeOf(seen.merging, plan)
        )
        const written: Written = yield* writer.modify(
          intoId,
          access,
          (session, now) =>
            Effect.gen(function* () {
              const refusal = refusalOf(session, settings.ttl, now)
              if (refusal !== undefined) return yield* refusal
              let current = seen
              if (session.revision !== into.revision) {
                current = yield* prepare(store, session, from)
                if (!isSame(seen.merging, current.merging)) return { _tag: "Keep", value: changed } as const
              }
              return yield* write(store, settings, strategy.name, session, now, current, outcome, salt)
            }),
          (written: Written) => {
            if (written._tag === "Merged") tell(written.merged)
          }
        )
        if (written._tag === "Merged") return written.merged
        if (written._tag === "Taken") salt = yield* IdGenerator.generate
        yield* Effect.yieldNow()
      }
      return yield* busy
    })
}
