/**
 * The interceptors that a run adds to its model and tool calls: limits, guards, hooks and events.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import type * as Governance from "../../governance/Governance.js"
import {
  GuardPipelineError,
  ToolObservationBlockedError,
  ToolObservationGuardError
} from "../../guard/pipeline/GuardError.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import { CostEstimator } from "../../llm/model/CostEstimator.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as AgentDomainEvents from "../../observability/AgentDomainEvents.js"
import * as AgentHooks from "../../observability/AgentHooks.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import type { ModelCallInterceptor } from "../../strategy/definition/ModelCall.js"
import type * as CallBudget from "../../strategy/reasoning/CallBudget.js"
import * as ToolRunner from "../../tool/ToolRunner.js"
import type { RunLimits } from "../definition/Agent.js"
import { RunLimitExceededError } from "../definition/AgentError.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { requester } from "../definition/RunIdentity.js"
import type { State } from "../definition/Stage.js"
import * as GuardChecks from "./GuardChecks.js"

const units = {
  time: "ms",
  tokens: "tokens",
  cost: "US dollars",
  "model-calls": "model-calls",
  "tool-calls": "tool-calls",
  "step-tokens": "tokens a step",
  "step-cost": "US dollars a step"
} as const satisfies Record<RunLimitExceededError["limitType"], string>

/** The failure of a run that reached a limit. */
export const limitError = (
  state: State,
  limitType: RunLimitExceededError["limitType"],
  limit: number,
  used: number
): RunLimitExceededError =>
  new RunLimitExceededError({
    agentName: state.agent.name,
    limitType,
    limit,
    used,
    partial: state.progress(),
    message: `The run of "${state.agent.name}" reached its limit of ${limit} ${units[limitType]}`,
    hint: "Raise the limit, or use the partial response (`partial`)"
  })

const fatal = (error: unknown) => Effect.fail(new ToolRunner.Fatality({ error, toolName: "" }))

/** Only runs with limits of model calls need it. */
const budgets = OnDemand.make(() => import("../../strategy/reasoning/CallBudget.js"))

type Ledgers = (module: typeof CallBudget) => Parameters<typeof CallBudget.call<RunLimitExceededError>>[0]

/** A budget that is loaded with the first call. */
const budgeted = (make: Ledgers): ModelCallInterceptor => {
  let ledgerOf: ReturnType<Ledgers> | undefined
  const self: ModelCallInterceptor = (request, next, target, lost) =>
    Effect.flatMap(budgets, (module) => {
      ledgerOf ??= make(module)
      return module.call(ledgerOf, self)(request, next, target, lost)
    })
  return self
}

type Limit = "maxTokens" | "maxCostUsd" | "maxModelCalls"

type BudgetOf = (
  limits: Pick<RunLimits, Limit>,
  isOfStep: boolean
) => readonly [CallBudget.Limits, CallBudget.Options<RunLimitExceededError>]

/** What the budgets of a run need: those of its steps fail as such. */
const budgetOf =
  (state: State, context: Context.Context<never>): BudgetOf =>
  (limits, isOfStep) => [
    limits,
    {
      counter: TokenCounter.inContext(context),
      estimator: Context.get(context as Context.Context<CostEstimator>, CostEstimator),
      fail: ({ limit, limitType: type, unpriced, used }) => {
        const limitType = isOfStep && type !== "model-calls" ? (`step-${type}` as const) : type
        if (unpriced === undefined) return limitError(state, limitType, limit, used)
        return new RunLimitExceededError({
          agentName: state.agent.name,
          limitType,
          limit,
          used,
          partial: state.progress(),
          message: `The run of "${state.agent.name}" has a dollar budget, but the price of ${unpriced} is unknown`,
          hint: "Set its price (`prices` of the executor, `CostEstimator.layerPrices`), or limit tokens"
        })
      }
    }
  ]

const isSet = (limits: Pick<RunLimits, Limit>): boolean => Object.values(limits).some((limit) => limit !== undefined)

/**
 * The shared budget of a run and the runs it starts, and that of each of its steps. The maximum of a call is reserved
 * before it and settled when it answered. A call asks for a shorter answer if only that fits.
 */
export const modelBudgets = (
  state: State,
  { maxCostUsd, maxCostUsdPerStep, maxModelCalls, maxTokens, maxTokensPerStep }: RunLimits,
  context: Context.Context<never>
): ReadonlyArray<ModelCallInterceptor> => {
  const budget = budgetOf(state, context)
  const ofRun = { maxCostUsd, maxModelCalls, maxTokens }
  const ofStep = { maxCostUsd: maxCostUsdPerStep, maxTokens: maxTokensPerStep }
  const interceptors: Array<ModelCallInterceptor> = []
  if (isSet(ofRun)) {
    interceptors.push(
      budgeted(({ Ledger }) => {
        const ledger = new Ledger(...budget(ofRun, false))
        return () => ledger
      })
    )
  }
  if (isSet(ofStep)) interceptors.push(budgeted(({ perStep }) => perStep(state.run.runId, ...budget(ofStep, true))))
  return interceptors
}

type Next = Parameters<ToolRunner.ToolInterceptor>[1]

/** An interceptor that is given the fiber of the call. */
type OwnInterceptor = (
  call: ToolRunner.ToolCall,
  next: Next,
  fiber: Fiber.RuntimeFiber<ToolRunner.Outcome, ToolRunner.Fatality>
) => ReturnType<ToolRunner.ToolInterceptor>

/** The interceptor, for calls of the run itself; inner runs have interceptors of their own. */
export const own =
  (state: State, interceptor: OwnInterceptor): ToolRunner.ToolInterceptor =>
  (call, next) =>
    Effect.withFiberRuntime((fiber) =>
      Context.get(fiber.currentContext, Run.Run).runId === state.run.runId ? interceptor(call, next, fiber) : next(call)
    )

/** Limits the tool calls of the run itself. */
export const toolLimits = (state: State, maxToolCalls: number): ToolRunner.ToolInterceptor =>
  own(state, (call, next) =>
    Effect.suspend(() => {
      // The events already include this call.
      const used = state.progress().toolCalls.length
      return used > maxToolCalls ? fatal(limitError(state, "tool-calls", maxToolCalls, used)) : next(call)
    })
  )

/** Models may invent names of any length. */
const nameOf = (call: ToolRunner.ToolCall): string => call.name.slice(0, 128)

const callInfo = (state: State, call: ToolRunner.ToolCall): AgentHooks.ToolCallInfo => ({
  agentName: state.agent.name,
  runId: state.run.runId,
  toolName: nameOf(call),
  toolCallId: call.id
})

/** Lets a call begin if it is allowed. A refused one ends the run, since the model cannot act on a quota. */
const permitted =
  (state: State, governance: Governance.Service, interceptor: OwnInterceptor): OwnInterceptor =>
  (call, next, fiber) =>
    Effect.matchEffect(
      RecordedStages.decision(governance.checkToolCall({ ...requester(state), toolName: nameOf(call) })),
      {
        onFailure: fatal,
        onSuccess: (decision) => (decision.allowed ? interceptor(call, next, fiber) : fatal(decision.error))
      }
    )

/** Outermost: checks whether a call is allowed, and reports how it ended to the bus and the audit. */
export const toolEvents = (state: State, governance: Governance.Service): ToolRunner.ToolInterceptor => {
  const reported: OwnInterceptor = (call, next, fiber) => {
    const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
    const step = Context.get(fiber.currentContext as Context.Context<any>, Step.Step)
    const startedAt = clock.unsafeCurrentTimeMillis()
    return Effect.onExit(next(call), (exit) =>
      Effect.suspend(() => {
        if (step.isSuspended()) return Effect.void
        const success = Exit.isSuccess(exit) && !exit.value.isFailure
        state.run.announce(() =>
          DomainEvent.make(AgentDomainEvents.ToolExecutionCompletedEvent, {
            aggregateId: state.run.runId,
            actorId: state.userId,
            fields: { toolName: nameOf(call), agentId: state.agent.name, success }
          })
        )
        if (governance.enabled === false) return Effect.void
        const interrupted = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
        return RecordedStages.concluded(
          governance.audit({
            type: "tool_call",
            runId: state.run.runId,
            agent: state.agent.name,
            ...(state.userId === undefined ? {} : { userId: state.userId }),
            status: success ? "success" : interrupted ? "interrupted" : "failure",
            latencyMs: clock.unsafeCurrentTimeMillis() - startedAt,
            metadata: { tool: nameOf(call) }
          }),
          { state, stage: "audit" }
        )
      })
    )
  }
  return own(state, governance.enabled === false ? reported : permitted(state, governance, reported))
}

/** Filters may change arguments before guards see them. */
export const toolParamsFilter = (state: State): ToolRunner.ToolInterceptor =>
  own(state, (call, next) => {
    const { hooks } = state.run
    if (!hooks.has(AgentHooks.AgentToolParamsFilter)) return next(call)
    return Effect.flatMap(hooks.apply(AgentHooks.AgentToolParamsFilter, call.params, callInfo(state, call)), (params) =>
      next(params === call.params ? call : { ...call, params })
    )
  })

/** Innermost: hooks before the tool runs, filters of its observation. */
export const toolHooks = (state: State): ToolRunner.ToolInterceptor =>
  own(state, (call, next) => {
    const { hooks } = state.run
    const called = hooks.has(AgentHooks.AgentToolCalledHook)
      ? Effect.flatMap(
          hooks.call(AgentHooks.AgentToolCalledHook, {
            ...callInfo(state, call),
            params: Run.screenedValue(state.run, call.params)
          }),
          () => next(call)
        )
      : next(call)
    return Effect.flatMap(called, (outcome) => {
      if (!hooks.has(AgentHooks.AgentObservationFilter)) return Effect.succeed(outcome)
      return Effect.map(
        hooks.apply(AgentHooks.AgentObservationFilter, outcome.observation, {
          ...callInfo(state, call),
          isFailure: outcome.isFailure
        }),
        (observation) =>
          observation === outcome.observation ? outcome : { ...outcome, observation, result: observation }
      )
    })
  })

const keptFiles = OnDemand.make(() => import("../conversation/KeptFiles.js"))

/** Outside of the guards: keeps the files of results, those of inner runs too, with the session of the run. */
export const toolFiles =
  (state: State): ToolRunner.ToolInterceptor =>
  (call, next) =>
    Effect.flatMap(next(call), (outcome) => {
      const { files } = outcome
      const { keep, session } = state.notes
      return files === undefined || session === undefined || keep === undefined
        ? Exit.succeed(outcome)
        : Effect.as(
            Effect.flatMap(keptFiles, ({ keepResult }) => keepResult(state, session, files)),
            outcome
          )
    })

/** Guards the arguments and the observation of a call. */
export const toolGuards = (state: State): ToolRunner.ToolInterceptor =>
  own(state, (call, next) =>
    Effect.gen(function* () {
      const context = { ...GuardChecks.context(state), toolName: call.name, toolCallId: call.id }
      let guarded = call
      if (GuardChecks.isGuarded(state, "toolInput")) {
        const text = typeof call.params === "string" ? call.params : (JSON.stringify(call.params) ?? "{}")
        const verdict = yield* asFatal(GuardChecks.check(state, "toolInput", text, context))
        if (verdict.blocked) {
          state.notes.guarded.set(call.id, {})
          return blockedCall(call, verdict.by.guardName)
        }
        if (verdict.text !== text) {
          guarded = { ...call, params: verdict.text }
          state.notes.guarded.set(call.id, verdict.text)
        }
      }
      const outcome = yield* next(guarded)
      if (!GuardChecks.isGuarded(state, "toolOutput")) return outcome
      const verdict = yield* asFatal(
        Effect.mapError(GuardChecks.check(state, "toolOutput", outcome.observation, context), (error) =>
          error instanceof GuardPipelineError
            ? new ToolObservationGuardError({ toolName: call.name, message: error.message, cause: error })
            : error
        )
      )
      if (!verdict.blocked) {
        return verdict.text === outcome.observation ? outcome : replaced(outcome, verdict.text)
      }
      if (state.uses.guards.blockedObservations !== "fail") return withheld(outcome)
      return yield* fatal(
        new ToolObservationBlockedError({
          toolName: call.name,
          message: `The result of "${call.name}" was blocked by the guard "${verdict.by.guardName}"`
        })
      )
    })
  )

/** Replaces a blocked result for the model. Quotes nothing of it. */
const WITHHELD =
  "The tool ran, and its result was withheld by a guard. Do not repeat the call; go on without the result, or say that it is not available."

/** Replaces everything the tool returned, or failed with. */
const withheld = ({ files: _, ...outcome }: ToolRunner.Outcome): ToolRunner.Outcome => replaced(outcome, WITHHELD)

/** Replaces the texts of what the tool returned, or failed with. */
const replaced = (outcome: ToolRunner.Outcome, text: string): ToolRunner.Outcome => ({
  ...outcome,
  observation: text,
  result: text,
  ...(outcome.error === undefined ? {} : { error: { ...outcome.error, message: text } })
})

const asFatal = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, ToolRunner.Fatality> =>
  Effect.mapError(effect, (error) =>
    error instanceof ToolRunner.Fatality ? error : new ToolRunner.Fatality({ error, toolName: "" })
  )

const blockedCall = (call: ToolRunner.ToolCall, guard: string): ToolRunner.Outcome => {
  const text = `Error: the call was blocked by the guard "${guard}". Do not repeat it with the same arguments`
  return refusedCall(call, text, { tag: "InputGuardError", code: "LEX_ERR_GUARD_002", message: text })
}

/** The outcome of a call that does not run. */
export const refusedCall = (call: ToolRunner.ToolCall, text: string, error: ErrorInfo): ToolRunner.Outcome => ({
  id: call.id,
  name: call.name,
  isFailure: true,
  result: text,
  observation: text,
  truncated: false,
  attempts: 0,
  error
})
