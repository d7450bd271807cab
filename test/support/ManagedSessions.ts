/** Sessions under a manager, with the effects of every write recorded in lists. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import type { MemoryEntry } from "../../src/memory/entry/MemoryEntry.js"
import { type MemoryCapacityError, MemoryStoreError } from "../../src/memory/entry/MemoryError.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import type * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import type * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../src/session/branch/DefaultBranchManager.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as SessionWriter from "../../src/session/manager/SessionWriter.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import { NewTurn } from "../../src/session/turn/Session.js"
import * as SessionHooks from "../../src/session/turn/SessionHooks.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"

export const sid = (text: string): SessionId => SessionId.make(text)
export const uid = (text: string): UserId => UserId.make(text)
export const ada = uid("ada")
export const bob = uid("bob")

/** A turn whose content is its id, at time `n`. */
export const turn = (n: number, fields: Partial<NewTurn> = {}): NewTurn =>
  NewTurn.make({ id: TurnId.make(`t${n}`), role: "user", content: `t${n}`, timestamp: n, ...fields })

export const refusal = new MemoryStoreError({ message: "memory is out", store: "told" })

/** Behavior of memory; default: succeeds without effect. */
export interface Doings {
  add: (entry: MemoryEntry) => Effect.Effect<void, MemoryStoreError | MemoryCapacityError>
  flush: Effect.Effect<void, MemoryStoreError>
  consolidate: Effect.Effect<void, MemoryStoreError>
}

export class Told {
  readonly hooks: Array<string> = []
  readonly events: Array<DomainEvent.Body> = []
  readonly entries: Array<MemoryEntry> = []
  /** `flush <owner> <session>` and `consolidate <owner>`, when they begin. */
  readonly memory: Array<string> = []
  readonly doings: Doings = { add: () => Effect.void, flush: Effect.void, consolidate: Effect.void }

  /** Types of events, with the change if there was one. */
  get eventTypes(): ReadonlyArray<string> {
    return this.events.map(({ eventType, fields: { change } }) =>
      change === undefined ? eventType : `${eventType} ${String(change)}`
    )
  }
}

const hooks = (told: Told): Layer.Layer<Hooks.Hooks> =>
  Layer.mergeAll(
    Hooks.handler(SessionHooks.SessionStartedHook, ({ sessionId }) =>
      Effect.sync(() => told.hooks.push(`started ${sessionId}`))
    ),
    Hooks.handler(SessionHooks.SessionCheckpointCreatedHook, ({ kind, sessionId }) =>
      Effect.sync(() => told.hooks.push(`checkpoint ${kind} ${sessionId}`))
    ),
    Hooks.handler(SessionHooks.SessionClosedHook, ({ sessionId, status }) =>
      Effect.sync(() => told.hooks.push(`${status} ${sessionId}`))
    )
  ).pipe(Layer.provideMerge(Hooks.layer))

const bus = (told: Told): Layer.Layer<EventBus.EventBus> =>
  Layer.succeed(EventBus.EventBus, {
    ...EventBus.noop,
    enabled: true,
    offer: (event) => {
      told.events.push(event)
      return true
    }
  })

const addTo = (told: Told, entry: MemoryEntry) =>
  Effect.tap(told.doings.add(entry), () => Effect.sync(() => told.entries.push(entry)))

const memory = (told: Told): Layer.Layer<WorkingMemory.WorkingMemory | MemoryConsolidator.MemoryConsolidator> =>
  Layer.merge(
    Layer.succeed(WorkingMemory.WorkingMemory, {
      ...WorkingMemory.noop,
      add: (entry) => addTo(told, entry),
      addAll: (entries) => Effect.forEach(entries, (entry) => addTo(told, entry), { discard: true }),
      flush: ({ ownerId, sessionId }) =>
        Effect.suspend(() => {
          told.memory.push(`flush ${ownerId} ${sessionId}`)
          return told.doings.flush
        })
    }),
    Layer.succeed(MemoryConsolidator.MemoryConsolidator, {
      ...MemoryConsolidator.noop,
      consolidate: ({ ownerId }) =>
        Effect.suspend(() => {
          told.memory.push(`consolidate ${ownerId}`)
          return Effect.zipRight(told.doings.consolidate, MemoryConsolidator.noop.consolidate({ ownerId }))
        })
    })
  )

export type Provided =
  | SessionManager.SessionManager
  | BranchManager.BranchManager
  | SessionWriter.SessionWriter
  | SessionStore.SessionStore

/** Records all reports in `told`, with memory enabled. */
export const layer = (
  options?: DefaultSessionManager.Options | undefined,
  parts: {
    readonly store?: Layer.Layer<SessionStore.SessionStore> | undefined
    readonly told?: Told | undefined
    readonly hooks?: Layer.Layer<Hooks.Hooks> | undefined
    readonly branches?: DefaultBranchManager.Options | undefined
  } = {}
): Layer.Layer<Provided> => {
  const { store = InMemorySessionStore.layer, told = new Told() } = parts
  return Layer.merge(DefaultSessionManager.layer(options), DefaultBranchManager.layer(parts.branches)).pipe(
    Layer.provideMerge(SessionWriter.layer),
    Layer.provideMerge(store),
    Layer.provide(Layer.mergeAll(parts.hooks ?? hooks(told), bus(told), memory(told)))
  )
}

/** A store with some methods replaced by a test. */
export const storeWith = (
  change: (store: SessionStore.Service) => Partial<SessionStore.Service>
): Layer.Layer<SessionStore.SessionStore> =>
  Layer.effect(
    SessionStore.SessionStore,
    Effect.map(SessionStore.SessionStore, (store) => ({ ...store, ...change(store) }))
  ).pipe(Layer.provide(InMemorySessionStore.layer))

/** Contents of the turns from the root to the head. */
export const words = (id: SessionId) =>
  Effect.flatMap(SessionManager.SessionManager, (sessions) =>
    Effect.map(sessions.turns(id, { last: 10_000 }), (turns) => turns.map(({ content }) => content))
  )
