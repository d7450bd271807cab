/**
 * Executes skills and reports each execution: span, metrics, hooks and domain event.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Spanned from "../../internal/fiber/Spanned.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import type * as EventBus from "../../observability/EventBus.js"
import type * as Hooks from "../../observability/Hooks.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import * as Telemetry from "../../observability/Telemetry.js"
import * as HandledTool from "../../tool/definition/HandledTool.js"
import * as Skill from "../definition/Skill.js"
import type * as SkillCall from "../definition/SkillCall.js"
import type { SkillResult } from "../definition/SkillDefinition.js"
import {
  SkillConfirmationDeniedError,
  SkillNotFoundError,
  SkillPermissionDeniedError,
  SkillTimeoutError,
  SkillValidationError
} from "../definition/SkillError.js"
import { SkillExecutedEvent } from "../definition/SkillEvents.js"
import * as SkillFailure from "../definition/SkillFailure.js"
import { type ExecutionInfo, SkillExecutedHook, SkillExecutionFailedHook } from "../definition/SkillHooks.js"
import * as SkillMetrics from "../definition/SkillMetrics.js"
import * as SkillExecution from "./SkillExecution.js"
import type { ExecuteRequest } from "./SkillExecutor.js"
import * as SkillFrame from "./SkillFrame.js"
import type * as SkillRegistry from "./SkillRegistry.js"

/**
 * The services and settings of an executor.
 *
 * @category models
 */
export interface Engine extends SkillExecution.Engine {
  readonly registry: SkillRegistry.Service
  /** For executions outside a run. */
  readonly hooks: Hooks.Service
  readonly bus: EventBus.Service
}

type Given = Omit<ExecuteRequest, "name" | "params">

/**
 * Executes the registered skill of this name.
 *
 * @category combinators
 */
export const byName = (
  engine: Engine,
  name: string,
  params: unknown,
  given: Given,
  parent?: SkillFrame.Frame | undefined
): Effect.Effect<SkillResult, any, any> =>
  Effect.flatMap(engine.registry.get(name), (found) => {
    if (Option.isSome(found) && !found.value.erased.reference) {
      return execute(engine, found.value, given, parent, false, true, (execution) =>
        SkillExecution.steps(engine, execution, params)
      )
    }
    return execute(engine, Skill.ref(name.slice(0, 128)), given, parent, false, false, (execution) =>
      Option.isSome(found)
        ? SkillExecution.refuse(execution, SkillFailure.dangling(name))
        : Effect.flatMap(engine.registry.list(), (known) =>
            SkillExecution.refuse(execution, SkillFailure.notFound(name, known))
          )
    )
  })

/**
 * Executes a skill with decoded parameters; resolves references.
 *
 * @category combinators
 */
export const typed = (
  engine: Engine,
  skill: Skill.Any,
  params: unknown,
  given: Given,
  parent?: SkillFrame.Frame | undefined
): Effect.Effect<SkillResult, any, any> =>
  skill.erased.reference
    ? byName(engine, skill.definition.name, params, given, parent)
    : execute(engine, skill, given, parent, true, true, (execution) => SkillExecution.steps(engine, execution, params))

const execute = (
  engine: Engine,
  skill: Skill.Any,
  given: Given,
  inside: SkillFrame.Frame | undefined,
  isTyped: boolean,
  isKnown: boolean,
  steps: (execution: SkillExecution.Execution) => Effect.Effect<SkillExecution.Done, SkillFailure.Failed, any>
): Effect.Effect<SkillResult, any, any> =>
  Effect.withFiberRuntime((fiber) => {
    const current = fiber.currentContext as Context.Context<any>
    const { definition } = skill
    const { confirmed, id, sessionId, userId } = given
    const context: SkillCall.SkillContext = { userId, sessionId }
    const frame = new SkillFrame.Frame(inside ?? Context.get(current, SkillFrame.Current), definition, context)
    const run = Context.get(current, Run.Run)
    const step = Context.get(current, Step.Step)
    const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
    const startedAt = clock.unsafeCurrentTimeMillis()
    const execution: SkillExecution.Execution = {
      skill,
      context,
      frame,
      run,
      clock,
      isTyped,
      isConfirmed: confirmed === true,
      metrics: run.telemetry.metrics ? SkillMetrics.forSkill(isKnown ? definition.name : undefined) : undefined,
      nested: (inner: Skill.Skill<any, any, any, any>, params: unknown) =>
        Effect.map(
          typed(engine, inner as Skill.Any, params, { userId, sessionId }, frame),
          ({ output }) => output
        ) as any,
      id,
      attempt: 0,
      waited: 0
    }
    const duration = (): number => clock.unsafeCurrentTimeMillis() - startedAt - execution.waited
    const toolName = Context.get(current, HandledTool.HandledTool)
    const work = Effect.matchCauseEffect(
      Effect.suspend(() =>
        toolName === undefined
          ? steps(execution)
          : SkillExecution.refuse(execution, SkillFailure.inTool(definition.name, toolName))
      ),
      {
        onSuccess: (done) => succeeded(engine, execution, done, done.cached ? 0 : duration()),
        onFailure: (cause) => failed(engine, execution, cause, duration)
      }
    )
    const onExit = (exit: Exit.Exit<SkillResult, unknown>, span: Tracer.Span | undefined): void => {
      if (Exit.isFailure(exit) && step.isSuspended()) return
      ended(engine, execution, isKnown, exit, span, duration)
    }
    if (!run.telemetry.tracing) {
      return Effect.provideService(
        Spanned.watch(work, () => (exit) => onExit(exit, undefined)),
        SkillFrame.Current,
        frame
      )
    }
    const attributes: Record<string, unknown> = { "skill.name": definition.name, "skill.category": definition.category }
    if (Run.isCurrent(run)) attributes["agent.name"] = run.agent
    return Spanned.run(SkillMetrics.SPAN_SKILL_EXECUTE, { attributes }, work, onExit, (services) =>
      services.set(SkillFrame.Current.key, frame)
    )
  })

const hooksOf = (engine: Engine, { run }: SkillExecution.Execution): Hooks.Service =>
  Run.isCurrent(run) ? run.hooks : engine.hooks

const infoOf = ({ attempt, context, skill }: SkillExecution.Execution, durationMs: number): ExecutionInfo => ({
  skillName: skill.definition.name,
  ...(context.userId === undefined ? {} : { userId: context.userId }),
  ...(context.sessionId === undefined ? {} : { sessionId: context.sessionId }),
  durationMs,
  attempt
})

const succeeded = (
  engine: Engine,
  execution: SkillExecution.Execution,
  done: SkillExecution.Done,
  durationMs: number
): Effect.Effect<SkillResult> => {
  const { context, isTyped, skill } = execution
  const { cached } = done
  const result: SkillResult = {
    skillName: skill.definition.name,
    success: true,
    output: isTyped ? done.value : done.encoded,
    durationMs,
    cached,
    attempt: cached ? 0 : execution.attempt,
    metadata: context.sessionId === undefined ? {} : { sessionId: context.sessionId }
  }
  const hooks = hooksOf(engine, execution)
  return hooks.has(SkillExecutedHook)
    ? Effect.as(
        hooks.call(SkillExecutedHook, { ...infoOf(execution, durationMs), attempt: result.attempt, cached }),
        result
      )
    : Effect.succeed(result)
}

/** The failure; none for an interruption. A bug in a skill ends its execution, not the run. */
const errorOf = (
  execution: SkillExecution.Execution,
  cause: Cause.Cause<SkillFailure.Failed>
): Option.Option<unknown> => {
  const defect = Cause.dieOption(cause)
  return Option.isSome(defect)
    ? Option.some(SkillFailure.crashed(execution.skill.definition.name, execution.attempt, defect.value))
    : Option.map(Cause.failureOption(cause), (failed) => (execution.isTyped ? failed.error : failed.asSkillError()))
}

const failed = (
  engine: Engine,
  execution: SkillExecution.Execution,
  cause: Cause.Cause<SkillFailure.Failed>,
  duration: () => number
): Effect.Effect<never, unknown> => {
  const error = errorOf(execution, cause)
  if (Option.isNone(error)) return Effect.failCause(cause)
  const hooks = hooksOf(engine, execution)
  return hooks.has(SkillExecutionFailedHook)
    ? Effect.zipRight(
        hooks.call(SkillExecutionFailedHook, { ...infoOf(execution, duration()), error: errorInfo(error.value) }),
        Effect.fail(error.value)
      )
    : Effect.fail(error.value)
}

const outcomeOf = (exit: Exit.Exit<SkillResult, unknown>): SkillMetrics.Outcome => {
  if (Exit.isSuccess(exit)) return exit.value.cached ? "cached" : "success"
  const failure = Cause.failureOption(exit.cause)
  if (Option.isNone(failure)) return "interrupted"
  const error = failure.value
  if (error instanceof SkillTimeoutError) return "timeout"
  if (error instanceof SkillPermissionDeniedError || error instanceof SkillConfirmationDeniedError) return "denied"
  if (error instanceof SkillValidationError) return "invalid"
  return error instanceof SkillNotFoundError ? "not_found" : "failed"
}

/** Reports the end of an execution, however it ends. */
const ended = (
  engine: Engine,
  execution: SkillExecution.Execution,
  isKnown: boolean,
  exit: Exit.Exit<SkillResult, unknown>,
  span: Tracer.Span | undefined,
  duration: () => number
): void => {
  const success = Exit.isSuccess(exit)
  const cached = success && exit.value.cached
  const attempt = cached ? 0 : execution.attempt
  const durationMs = success ? exit.value.durationMs : duration()
  const outcome = outcomeOf(exit)
  execution.metrics?.executed(outcome, durationMs)
  if (cached) execution.metrics?.hit()
  if (span !== undefined) {
    span.attribute(SkillMetrics.attribute.attempt, attempt)
    span.attribute(SkillMetrics.attribute.cached, cached)
    if (!success) span.attribute(Telemetry.attribute.errorType, Telemetry.errorType(exit.cause))
  }
  const { context, run, skill } = execution
  const event = (): DomainEvent.Body =>
    DomainEvent.make(SkillExecutedEvent, {
      // Unknown names come from models and would create unbounded aggregates.
      aggregateId: isKnown ? skill.definition.name : "unknown",
      actorId: context.userId,
      fields: { skillName: skill.definition.name, success, durationMs, cached, attempt }
    })
  if (Run.isCurrent(run)) run.announce(event)
  else if (engine.bus.enabled) engine.bus.offer(event())
}
