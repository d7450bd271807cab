/**
 * The lease of this process. While it lasts, no other process takes its executions. A process that did not renew it in
 * time continues under another id, and what ran under the old one stops.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as Permits from "../../internal/fiber/Permits.js"
import type { EngineStore } from "./EngineStore.js"
import * as StorageFailure from "./StorageFailure.js"

/**
 * @category models
 */
export interface RunnerLease {
  readonly id: () => string
  /** Whether no other process can have taken the executions of this runner, renewing the lease if it has run out. */
  readonly ensure: Effect.Effect<void, SqlError>
}

const enter = (store: EngineStore, lease: number): Effect.Effect<{ id: string; until: number }, SqlError> =>
  Effect.gen(function* () {
    while (true) {
      const id = yield* IdGenerator.generate
      const until = (yield* Clock.currentTimeMillis) + lease
      if (yield* store.enter(id, until)) return { id, until }
    }
  })

/**
 * Renews the lease until the scope ends. `onLost` is called after another id was taken. The finalizer of the caller
 * gives the lease back.
 *
 * @category constructors
 */
export const make = (
  store: EngineStore,
  lease: number,
  onLost: Effect.Effect<void>
): Effect.Effect<RunnerLease, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    let current = yield* enter(store, lease)
    const alone = Permits.make(1)

    const renew = Effect.gen(function* () {
      const until = (yield* Clock.currentTimeMillis) + lease
      if (yield* store.renew(current.id, until)) {
        current = { id: current.id, until }
        return
      }
      current = yield* enter(store, lease)
      yield* onLost
    })
    const isOver = Effect.map(Clock.currentTimeMillis, (now) => now >= current.until)

    const failed = (error: SqlError) =>
      StorageFailure.warn("The lease of workflows could not be renewed", StorageFailure.of("renew")(error))
    yield* Effect.sleep(Math.max(1, Math.floor(lease / 3))).pipe(
      Effect.zipRight(StorageFailure.survived(Effect.catchAll(alone(Effect.uninterruptible(renew)), failed))),
      Effect.forever,
      Effect.interruptible,
      Effect.forkScoped
    )
    return {
      id: () => current.id,
      ensure: Effect.flatMap(isOver, (over) =>
        over
          ? alone(Effect.flatMap(isOver, (still) => (still ? Effect.uninterruptible(renew) : Effect.void)))
          : Effect.void
      )
    }
  })
