/** Engines as of several processes: each with its own scope, database client and clock. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as SqlWorkflowEngine from "../../../src/durable/engine/SqlWorkflowEngine.js"
import type { WorkflowJournal } from "../../../src/durable/engine/WorkflowJournal.js"
import type * as Tests from "./WorkflowTests.js"

export type Services = Tests.Engine | WorkflowJournal | SqlClient

export interface Process {
  /** Runs an effect with the services of the process. */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Services>>
  /** Ends it as a signal would. */
  readonly close: Effect.Effect<void>
  /** Nothing of the process happens by itself, and its time stands still. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
}

/** A clock that can stand still: sleeps end when it goes on. */
const freezable = (clock: Clock.Clock) => {
  const latch = Effect.unsafeMakeLatch(true)
  let frozenAt: number | undefined
  const millis = () => frozenAt ?? clock.unsafeCurrentTimeMillis()
  const nanos = () => (frozenAt === undefined ? clock.unsafeCurrentTimeNanos() : BigInt(frozenAt) * 1_000_000n)
  const own: Clock.Clock = {
    ...clock,
    unsafeCurrentTimeMillis: millis,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) => Effect.zipRight(clock.sleep(duration), latch.await)
  }
  return {
    own,
    freeze: Effect.suspend(() => {
      frozenAt = clock.unsafeCurrentTimeMillis()
      return latch.close
    }),
    thaw: Effect.suspend(() => {
      frozenAt = undefined
      return latch.open
    })
  }
}

export const start = (
  client: Layer.Layer<SqlClient>,
  workflows: Layer.Layer<never, never, Tests.Engine>,
  options?: SqlWorkflowEngine.Options
): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
    const { freeze, own, thaw } = freezable(yield* Clock.clockWith(Effect.succeed))
    const layer = workflows.pipe(
      Layer.provideMerge(SqlWorkflowEngine.layer(options)),
      Layer.provideMerge(client),
      Layer.orDie
    )
    const context: Context.Context<Services> = yield* Layer.buildWithScope(layer, scope).pipe(Effect.withClock(own))
    return {
      within: (effect) => Effect.provide(effect, context) as never,
      close: Scope.close(scope, Exit.void),
      freeze,
      thaw
    }
  })
