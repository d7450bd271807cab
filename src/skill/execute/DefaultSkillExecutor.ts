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
 * What is unset of a skill's definition comes from here.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Time for one attempt of a skill that does not say otherwise; default 30 s. A composite that says nothing has none:
   * its parts have.
   */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * Further attempts after the first, of a skill that does not say otherwise: only where a connection failed; default
   * 2.
   */
  readonly maxRetries?: number | undefined
  /**
   * Executions at a time; default 10. One that waits for a retry or a confirmation is not among them, nor one that only
   * executes others.
   */
  readonly maxConcurrent?: number | undefined
  /**
   * True: the waits between attempts (1 s, 2 s, 4 s, …, at most 30 s) are drawn from their upper half; default false.
   */
  readonly jitter?: boolean | undefined
  /** How long results are kept; default: as the `SkillResultCache` says. */
  readonly cacheTtl?: Duration.DurationInput | undefined
  /** Called by executions outside of a run; inside it is the run's that are. Default: nobody's. */
  readonly hooks?: Hooks.Service | undefined
  /** Told of executions outside of a run; inside it is the run's that is. Default: none. */
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
 * Executes skills. Limits and equal executions at the same time are those of this executor alone: one that is to hold
 * for an application is made once.
 *
 * The order: the skill is found; permissions; parameters; confirmation, for a skill that needs it; cache; then
 * attempts. What needs confirmation is confirmed each time, whatever the cache has; what does not may come from the
 * cache without anybody being asked.
 *
 * Attempts end when their time is up, and with the execution when that is interrupted; what a handler makes
 * uninterruptible is waited for. Interrupted executions have given back what they held when they end. The time of an
 * attempt stands still while somebody is asked to confirm a skill inside it, and begins anew then.
 *
 * A skill may execute others: a composite by what it is handed, any other by this service. What a skill that is no
 * composite executes runs in its place, one at a time. Skills with limits of their own that execute each other are
 * refused where they would wait for each other.
 *
 * A cacheable result whose handler looked at the user or the session (`call.userId`, `call.sessionId`) is not kept for
 * others.
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
        // What is registered requires nothing.
        SkillReport.byName(engine, request.name, request.params, request) as Effect.Effect<SkillResult, SkillError>,
      run: (skill: Skill<any, any, any, any>, params: unknown, context?: Omit<ExecuteRequest, "name" | "params">) =>
        SkillReport.typed(engine, skill as Any, params, context ?? {}) as Effect.Effect<any, any, any>
    }
  })

/**
 * Executes skills, as `make` says.
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
