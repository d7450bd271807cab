/**
 * The readers of runs that live as long as somebody follows them.
 *
 * @private
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

/** A run that is interrupted when nobody follows it. */
interface Followed {
  readers: number
  leaving: Fiber.RuntimeFiber<void> | undefined
}

/**
 * @category models
 */
export interface RunReaders {
  /** From now on the run lives as long as it is followed. */
  readonly attach: (runId: string) => void
  /** Follows a run for as long as the scope is open. `isOver` tells at its end whether the run has ended. */
  readonly follow: (
    runId: string,
    isOver: () => boolean,
    interrupt: Effect.Effect<unknown>
  ) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * A reader that connects again within `grace` has not left.
 *
 * @category constructors
 */
export const make = (grace: Duration.DurationInput): Effect.Effect<RunReaders, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const runs = new Map<string, Followed>()
    const wait = Duration.decode(grace)
    return {
      attach: (runId) => {
        if (!runs.has(runId)) runs.set(runId, { readers: 0, leaving: undefined })
      },
      follow: (runId, isOver, interrupt) =>
        Effect.suspend(() => {
          const followed = runs.get(runId)
          if (followed === undefined) return Effect.void
          return Effect.acquireRelease(
            Effect.suspend(() => {
              followed.readers++
              const { leaving } = followed
              followed.leaving = undefined
              return leaving === undefined ? Effect.void : Effect.asVoid(Fiber.interruptFork(leaving))
            }),
            () =>
              Effect.suspend(() => {
                followed.readers--
                if (isOver()) runs.delete(runId)
                if (followed.readers > 0 || !runs.has(runId)) return Effect.void
                return Effect.map(
                  Effect.forkIn(
                    Effect.interruptible(
                      Effect.zipRight(
                        Effect.sleep(wait),
                        Effect.suspend(() => {
                          runs.delete(runId)
                          return Effect.asVoid(interrupt)
                        })
                      )
                    ),
                    scope
                  ),
                  (fiber) => {
                    followed.leaving = fiber
                  }
                )
              })
          )
        })
    }
  })
