/** The real managers over an in-memory store, without a memory subsystem. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import type * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../src/session/branch/DefaultBranchManager.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"

export const layer: Layer.Layer<SessionManager.SessionManager | BranchManager.BranchManager> = Layer.merge(
  DefaultSessionManager.layer(),
  DefaultBranchManager.layer()
).pipe(Layer.provide(Layer.mergeAll(InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop)))

/** Windows read, in order: the requested and the returned number of turns. */
export class Reads extends Context.Tag("test/Reads")<
  Reads,
  Array<{ readonly last: number; readonly found: number }>
>() {}

/** The same managers, with their reads recorded. */
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
