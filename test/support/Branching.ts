/**
 * Sessions for branch tests: written directly by the writer, so that the test controls times, turns and checkpoints,
 * with a store that counts its calls.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import type * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../src/session/branch/DefaultBranchManager.js"
import * as SessionWriter from "../../src/session/manager/SessionWriter.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import {
  begin,
  CheckpointId,
  NewTurn,
  type Session,
  type SessionCheckpoint,
  type SessionState,
  type SessionTurn,
  stateOf
} from "../../src/session/turn/Session.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"

export const sid = (text: string): SessionId => SessionId.make(text)
export const user = UserId.make("ada")

/** Calls of methods, by name. */
export class Calls {
  readonly of = new Map<string, number>()
  get total(): number {
    return Array.from(this.of.values()).reduce((sum, count) => sum + count, 0)
  }
  reset(): void {
    this.of.clear()
  }
}

export const counted = (store: SessionStore.Service, calls: Calls): SessionStore.Service =>
  new Proxy(store, {
    get: (target, name) => {
      const member = Reflect.get(target, name)
      return typeof member !== "function"
        ? member
        : (...args: ReadonlyArray<unknown>) => {
            calls.of.set(String(name), (calls.of.get(String(name)) ?? 0) + 1)
            return member.apply(target, args)
          }
    }
  })

/** A store that keeps forks as versions before `sourceCuts` did. */
export const withoutSourceCuts = (store: SessionStore.Service): SessionStore.Service => ({
  ...store,
  create: ({ checkpoint, ...creation }) => {
    if (checkpoint === undefined) return store.create(creation)
    const { sourceCuts: _sourceCuts, ...older } = checkpoint
    return store.create({ ...creation, checkpoint: older })
  }
})

export const layer = (
  options?: DefaultBranchManager.Options,
  calls: Calls = new Calls(),
  around: (store: SessionStore.Service) => SessionStore.Service = (store) => store
): Layer.Layer<BranchManager.BranchManager | SessionWriter.SessionWriter | SessionStore.SessionStore> =>
  Layer.merge(Layer.provide(DefaultBranchManager.layer(options), WorkingMemory.layerNoop), SessionWriter.layer).pipe(
    Layer.provideMerge(
      Layer.effect(
        SessionStore.SessionStore,
        Effect.map(SessionStore.SessionStore, (store) => around(counted(store, calls)))
      ).pipe(Layer.provide(InMemorySessionStore.layer))
    )
  )

export const create = (
  id: string,
  options: Partial<Pick<Session, "variables" | "metadata" | "activeTools" | "activeSkills" | "systemPrompt">> & {
    readonly userId?: UserId | null
  } = {}
) =>
  Effect.gen(function* () {
    const { store } = yield* SessionWriter.SessionWriter
    const now = yield* Clock.currentTimeMillis
    const { userId = user, ...rest } = options
    const { session } = yield* store.create({
      session: { ...begin(sid(id), { at: now, userId: userId ?? undefined }), ...rest }
    })
    return session
  })

const next = (session: Session, now: number, change: Partial<Session>): Session => ({
  ...session,
  updatedAt: now,
  revision: session.revision + 1,
  ...change
})

/** A turn whose content is its id. */
export const say = (id: string, turnId: string, fields: Partial<NewTurn> = {}) =>
  Effect.flatMap(SessionWriter.SessionWriter, (writer) =>
    writer.modify(sid(id), undefined, (session, now) => {
      const turn: SessionTurn = {
        ...NewTurn.make({
          id: TurnId.make(turnId),
          role: "user",
          content: turnId,
          timestamp: now,
          tokensUsed: 1,
          cost: 0.5,
          ...fields
        }),
        sessionId: session.id,
        depth: session.depth + 1,
        ...(session.head === undefined ? {} : { parent: session.head })
      }
      return Effect.succeed({
        _tag: "Append" as const,
        value: turn,
        known: ([known]: ReadonlyArray<SessionTurn>) => Effect.succeed(known as SessionTurn),
        addition: {
          session: next(session, now, {
            head: { sessionId: session.id, turnId: turn.id },
            depth: turn.depth,
            totalTokens: session.totalTokens + turn.tokensUsed,
            totalCost: session.totalCost + turn.cost
          }),
          turns: [turn]
        }
      })
    })
  )

export const update = (id: string, change: Partial<Session>) =>
  Effect.flatMap(SessionWriter.SessionWriter, (writer) =>
    writer.modify(sid(id), undefined, (session, now) => {
      const value = next(session, now, change)
      return Effect.succeed({ _tag: "Save" as const, value, change: { session: value } })
    })
  )

export const checkpoint = (id: string, checkpointId: string) =>
  Effect.flatMap(SessionWriter.SessionWriter, (writer) =>
    writer.modify(sid(id), undefined, (session, now) => {
      const value: SessionCheckpoint = {
        id: CheckpointId.make(checkpointId),
        sessionId: session.id,
        kind: "manual",
        state: stateOf(session),
        createdAt: now,
        revision: session.revision + 1,
        ...(session.checkpointId === undefined ? {} : { parentCheckpointId: session.checkpointId }),
        metadata: {}
      }
      const changed = next(session, now, { checkpointId: value.id })
      return Effect.succeed({ _tag: "Save" as const, value, change: { session: changed, checkpoint: value } })
    })
  )

/** Restores a checkpoint of the session, with a cut that says what is left behind. */
export const restore = (checkpointId: string) =>
  Effect.gen(function* () {
    const writer = yield* SessionWriter.SessionWriter
    const { id, sessionId, state } = Option.getOrThrow(yield* writer.store.checkpoint(CheckpointId.make(checkpointId)))
    const turn = state.head === undefined ? undefined : Option.getOrThrow(yield* writer.store.turn(state.head))
    return yield* writer.modify(sessionId, undefined, (session, now) => {
      const after = turn?.timestamp ?? 0
      const { head: _head, systemPrompt: _systemPrompt, ...rest } = session
      const restored: SessionState = {
        ...state,
        status: session.status,
        cuts: [...state.cuts.filter((cut) => cut.after < after), { after, before: now }]
      }
      const value: Session = {
        ...rest,
        ...restored,
        checkpointId: id,
        updatedAt: now,
        revision: session.revision + 1
      }
      return Effect.succeed({ _tag: "Save" as const, value, change: { session: value } })
    })
  })

export const load = (id: string) =>
  Effect.flatMap(SessionWriter.SessionWriter, ({ store }) => Effect.map(store.load(sid(id)), Option.getOrThrow))

/** Contents of the turns up to the head of a session, oldest first. */
export const said = (id: string) =>
  Effect.gen(function* () {
    const { store } = yield* SessionWriter.SessionWriter
    const { head } = yield* load(id)
    return head === undefined ? [] : yield* store.turns(head, { limit: 10_000 })
  })

export const words = (id: string) => Effect.map(said(id), (turns) => turns.map(({ content }) => content))
