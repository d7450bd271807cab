/**
 * Sessions as entities of a cluster of `DurableCluster`.
 *
 * @since 0.1.0
 */
import * as Entity from "@effect/cluster/Entity"
import * as Sharding from "@effect/cluster/Sharding"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RunStore from "../../agent/record/RunStore.js"
import * as Runs from "../../agent/runs/Runs.js"
import { AgentEntity } from "./AgentEntity.js"
import * as AgentEntityError from "./AgentEntityError.js"
import * as RunHandlers from "./RunHandlers.js"
import * as SessionClient from "./SessionClient.js"
import { SessionFence } from "./SessionFence.js"
import * as SessionHandlers from "./SessionHandlers.js"
import { RunEntity, SessionEntity } from "./SessionProtocol.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long a session without messages stays in the memory of its process, which looks every 5 seconds at the most
   * often. It holds nothing that is not in the database. Default: 1 minute.
   */
  readonly maxIdleTime?: Duration.DurationInput | undefined
  /** How many messages of one session wait before another one is refused (`full`), from 1. Default: 100. */
  readonly maxWaiting?: number | undefined
  /** How long `status`, `steer` and `interrupt` wait for a process of the cluster. Default: 10 seconds. */
  readonly patience?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  maxIdleTime: Duration.minutes(1),
  maxWaiting: 100,
  patience: Duration.seconds(10)
} as const

const resolve = (options: Options) =>
  Effect.gen(function* () {
    const maxIdleTime = Duration.decode(options.maxIdleTime ?? defaults.maxIdleTime)
    const maxWaiting = options.maxWaiting ?? defaults.maxWaiting
    if (!(Number.isInteger(maxWaiting) && maxWaiting >= 1)) {
      return yield* AgentEntityError.invalid("`maxWaiting` must be a whole number from 1", "Give it another value")
    }
    const patience = Duration.toMillis(options.patience ?? defaults.patience)
    if (!(patience > 0 && Number.isFinite(patience))) {
      return yield* AgentEntityError.invalid("`patience` must be a finite time above 0", "Give it another value")
    }
    return { maxIdleTime, maxWaiting, patience }
  })

/**
 * Sessions on the cluster in context, by the port `AgentEntity`. Give it to all processes of the cluster, with the same
 * agents: each has some of the sessions and reaches all of them. Fails with `AgentEntityError` (`invalid`) for an
 * option out of bounds.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { AgentEntity } from "effect-lexigram/cluster"
 *
 * const program = Effect.gen(function* () {
 *   const sessions = yield* AgentEntity.AgentEntity
 *   const ann = { sessionId: "s1", userId: "ann" }
 *   const { message } = yield* sessions.send({ ...ann, agent: "helper", input: "Hello", messageId: "m1" })
 *   return message
 * })
 * ```
 */
export const layer = (
  options: Options = {}
): Layer.Layer<
  AgentEntity,
  AgentEntityError.AgentEntityError,
  Runs.Runs | RunStore.RunStore | Sharding.Sharding | SessionFence
> =>
  Layer.scoped(
    AgentEntity,
    Effect.gen(function* () {
      const { maxIdleTime, maxWaiting, patience } = yield* resolve(options)
      const runs = yield* Runs.Runs
      const store = yield* RunStore.RunStore
      const fence = yield* SessionFence
      const sharding = yield* Sharding.Sharding
      // Handlers make their own order. What they hold is bounded by `maxWaiting`.
      const each = { maxIdleTime, concurrency: "unbounded", mailboxCapacity: "unbounded" } as const
      yield* sharding.registerEntity(
        SessionEntity,
        Effect.map(Entity.CurrentAddress, (address) => {
          const session = SessionHandlers.make({ runs, store, fence, sharding, maxWaiting }, address)
          return SessionEntity.of({
            send: ({ payload }) => session.send(payload.message),
            status: ({ payload }) => session.status(payload)
          })
        }),
        each
      )
      yield* sharding.registerEntity(
        RunEntity,
        Effect.map(Entity.CurrentAddress, (address) => {
          const run = RunHandlers.make(runs, sharding, address)
          return RunEntity.of({
            events: ({ payload }) => run.events(payload)
          })
        }),
        each
      )
      return yield* SessionClient.make(sharding, { runs, store, patience })
    })
  )
