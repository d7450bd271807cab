/**
 * The default skill executor: permissions, validation, confirmation, cache, limits, timeouts and retries in one place.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { count } from "../../internal/Count.js"
import * as EventBus from "../../observability/EventBus.js"
import * as Hooks from "../../observability/Hooks.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { Any, Skill } from "../definition/Skill.js"
import type { SkillResult } from "../definition/SkillDefinition.js"
import type { SkillError } from "../definition/SkillError.js"
import * as SkillMetrics from "../definition/SkillMetrics.js"
import * as PermissionChecker from "./PermissionChecker.js"
import { type ExecuteRequest, type Service, SkillExecutor } from "./SkillExecutor.js"
import { Flights } from "./SkillFlight.js"
import { Limits } from "./SkillLimits.js"
import * as SkillRegistry from "./SkillRegistry.js"
import * as SkillReport from "./SkillReport.js"
import * as SkillResultCache from "./SkillResultCache.js"

/**
 * Defaults for what a skill's definition leaves unset.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Time limit of one attempt; default 30 s. A composite has none by default: its parts have their own. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Retries after the first attempt, for connection failures only; default 2. */
  readonly maxRetries?: number | undefined
  /**
   * Concurrent executions; default 10. Not counted: executions that wait for a retry or a confirmation, and composites.
   */
  readonly maxConcurrent?: number | undefined
  /**
   * Draws the waits between attempts (1 s, 2 s, 4 s, …, at most 30 s) from their upper half; default false.
   */
  readonly jitter?: boolean | undefined
  /** How long results are kept; default: that of the `SkillResultCache`. */
  readonly cacheTtl?: Duration.DurationInput | undefined
  /** Hooks of executions outside a run; inside a run the run's hooks are called. Default: none. */
  readonly hooks?: Hooks.Service | undefined
  /** Event bus of executions outside a run; inside a run the run's bus is used. Default: none. */
  readonly bus?: EventBus.Service | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  timeout: Duration.seconds(30),
  maxRetries: 2,
  maxConcurrent: 10
} as const

/**
 * Makes an executor. Limits and shared executions are per executor: make one per application.
 *
 * Order: look up the skill; permissions; parameters; confirmation, if the skill needs it; cache; attempts. A
 * confirmation is asked for on every execution, even if the result is cached; a skill without one may answer from the
 * cache unasked.
 *
 * Attempts end at their timeout and when the execution is interrupted; uninterruptible parts of a handler are awaited.
 * An interrupted execution has released what it held when it ends. The time of an attempt stops while a skill inside it
 * waits for confirmation, and then restarts.
 *
 * A skill may execute others: a composite by its `run`, any other skill by this service. The skills a non-composite
 * executes run in its slot, one at a time. Skills with limits of their own that execute each other are refused where
 * they would deadlock.
 *
 * A cacheable result whose handler read the user or the session (`call.userId`, `call.sessionId`) is not shared.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  services: {
    readonly registry: SkillRegistry.Service
    readonly permissions: PermissionChecker.Service
    readonly cache: SkillResultCache.Service
    readonly approvals: ApprovalGate.Service
  },
  options?: Options | undefined
): Effect.Effect<Service> =>
  Effect.sync(() => {
    const timeout = Duration.toMillis(options?.timeout ?? defaults.timeout)
    const engine: SkillReport.Engine = {
      registry: services.registry,
      checker: services.permissions,
      cache: services.cache,
      gate: services.approvals,
      timeout: Number.isFinite(timeout) ? timeout : undefined,
      maxRetries: count(options?.maxRetries, defaults.maxRetries, 0),
      jitter: options?.jitter ?? false,
      cacheTtl: options?.cacheTtl,
      limits: new Limits(count(options?.maxConcurrent, defaults.maxConcurrent, 1), SkillMetrics.waited),
      flights: new Flights(),
      hooks: options?.hooks ?? Hooks.noop,
      bus: options?.bus ?? EventBus.noop
    }
    return {
      execute: (request) =>
        // A registered skill has no requirements.
        SkillReport.byName(engine, request.name, request.params, request) as Effect.Effect<SkillResult, SkillError>,
      run: (skill: Skill<any, any, any, any>, params: unknown, context?: Omit<ExecuteRequest, "name" | "params">) =>
        SkillReport.typed(engine, skill as Any, params, context ?? {}) as Effect.Effect<any, any, any>
    }
  })

/**
 * An executor as a layer; see `make`.
 *
 * @example
 * ```ts
 * import { ApprovalGate } from "effect-lexigram"
 * import * as Skills from "effect-lexigram/skill"
 * import * as Layer from "effect/Layer"
 *
 * const skills = Skills.DefaultSkillExecutor.layer({ timeout: "10 seconds", maxConcurrent: 4 }).pipe(
 *   Layer.provide(Skills.PermissionChecker.layerStatic({ ada: ["invoices.*"] })),
 *   Layer.provide(Skills.SkillResultMemory.layer({ ttl: "5 minutes" })),
 *   Layer.provide(ApprovalGate.layerDeny),
 *   Layer.provideMerge(Skills.DefaultSkillRegistry.layerEmpty)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<
  SkillExecutor,
  never,
  | SkillRegistry.SkillRegistry
  | PermissionChecker.PermissionChecker
  | SkillResultCache.SkillResultCache
  | ApprovalGate.ApprovalGate
> =>
  Layer.effect(
    SkillExecutor,
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      const permissions = yield* PermissionChecker.PermissionChecker
      const cache = yield* SkillResultCache.SkillResultCache
      const approvals = yield* ApprovalGate.ApprovalGate
      return yield* make({ registry, permissions, cache, approvals }, options)
    })
  )
