/** The real managers over a store in memory, without memory behind it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"

export const layer: Layer.Layer<SessionManager.SessionManager | BranchManager.BranchManager> = Layer.merge(
  DefaultSessionManager.layer(),
  BranchManager.layer()
).pipe(Layer.provide(Layer.mergeAll(InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop)))

/** The windows that were read, in order: how many turns each was asked for, and how many it had. */
export class Reads extends Context.Tag("test/Reads")<
  Reads,
  Array<{ readonly last: number; readonly found: number }>
>() {}

/** The same, and what is read of it. */
export const layerWatched: Layer.Layer<SessionManager.SessionManager | BranchManager.BranchManager | Reads> =
  Layer.effectContext(
    Effect.map(SessionManager.SessionManager, (sessions) => {
      const reads: Array<{ readonly last: number; readonly found: number }> = []
      return Context.make(SessionManager.SessionManager, {
        ...sessions,
        turns: (id, options) =>
          Effect.tap(sessions.turns(id, options), (found) =>
            Effect.sync(() => void reads.push({ last: options.last, found: found.length }))
          )
      } satisfies SessionManager.Service).pipe(Context.add(Reads, reads))
    })
  ).pipe(Layer.provideMerge(layer))
