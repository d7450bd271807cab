/**
 * The requests that a server answers, and their end when the server ends.
 *
 * @private
 * @since 0.1.0
 */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"

export interface OpenRequests {
  /** Counts a request of this fiber until its scope closes, which is when its response has been sent. */
  readonly enter: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<void, never, Scope.Scope>
  /** Further requests are not answered. */
  readonly isClosing: () => boolean
  /** Completes when that begins. */
  readonly closing: Effect.Effect<void>
  /** Waits until all requests are answered. Those that are not within `patience` are interrupted. */
  readonly close: Effect.Effect<void>
}

interface Open {
  readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  readonly source: unknown
}

/** A request that was told to end has this long to send what it has. A client that does not read takes longer. */
const grace = Duration.seconds(1)

/** Closes the connection of a request of Node. */
const disconnect = (source: unknown) =>
  Effect.sync(() => {
    if (Predicate.hasProperty(source, "destroy") && Predicate.isFunction(source.destroy)) source.destroy()
  })

/** Uses the clock that it is made with. */
const make = (patience: Duration.DurationInput = "15 seconds"): Effect.Effect<OpenRequests> =>
  Effect.map(Effect.clock, (clock) => {
    const open = new Map<Scope.Scope, Open>()
    const answered = Effect.unsafeMakeLatch(true)
    const closing = Effect.unsafeMakeLatch(false)
    let isClosing = false
    const leave = (scope: Scope.Scope) =>
      Effect.suspend(() => {
        open.delete(scope)
        return open.size === 0 ? answered.open : Effect.void
      })
    const cut = Effect.suspend(() =>
      Effect.forEach(
        Array.from(open),
        // A body that another runtime reads outlives the fiber of its request, but not its scope.
        ([scope, { fiber, source }]) =>
          Fiber.interruptFork(fiber).pipe(
            Effect.zipRight(
              Effect.interruptible(
                Effect.raceFirst(Fiber.await(fiber), Effect.zipRight(clock.sleep(grace), disconnect(source)))
              )
            ),
            Effect.zipRight(Scope.close(scope as Scope.CloseableScope, Exit.interrupt(fiber.id())))
          ),
        { concurrency: "unbounded", discard: true }
      )
    )
    return {
      enter: ({ source }) =>
        Effect.withFiberRuntime<void, never, Scope.Scope>((fiber) =>
          Effect.scopeWith((scope) => {
            open.set(scope, { fiber, source })
            answered.unsafeClose()
            return Scope.addFinalizer(scope, leave(scope))
          })
        ),
      isClosing: () => isClosing,
      closing: closing.await,
      close: Effect.suspend(() => {
        isClosing = true
        closing.unsafeOpen()
        if (open.size === 0) return Effect.void
        // The caller may be interrupted already: what waits for the time is a fiber of its own.
        const waiting = Effect.forkDaemon(
          Effect.interruptible(Effect.zipRight(clock.sleep(Duration.decode(patience)), Effect.uninterruptible(cut)))
        )
        return Effect.flatMap(waiting, (fiber) => Effect.zipRight(answered.await, Fiber.interrupt(fiber)))
      })
    }
  })

/**
 * A layer that serves requests. Before it is released, those that are open are answered.
 *
 * @category layers
 */
export const layer = <A, E, R>(
  patience: Duration.DurationInput | undefined,
  serving: (open: OpenRequests) => Layer.Layer<A, E, R>
): Layer.Layer<A, E, R> =>
  Layer.unwrapEffect(
    Effect.map(make(patience), (open) =>
      Layer.provideMerge(Layer.scopedDiscard(Effect.addFinalizer(() => open.close)), serving(open))
    )
  )
