/**
 * Binds a task to its model. Calls go through the router, with a deadline, a span, live deltas and a usage report.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Spanned from "../../internal/fiber/Spanned.js"
import { ModelRouter } from "../../llm/ModelRouter.js"
import * as CallGate from "../../llm/model/CallGate.js"
import * as CallMeter from "../../llm/model/CallMeter.js"
import { CostEstimator, type Service as Estimator } from "../../llm/model/CostEstimator.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import { type LlmError, LlmTimeoutError } from "../../llm/model/LlmError.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as RecalledCalls from "../../llm/model/RecalledCalls.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import * as Telemetry from "../../observability/Telemetry.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import {
  type CallOptions,
  ConversationInterceptors,
  type Model,
  type ModelCallInterceptor,
  ModelCallInterceptors,
  type Target
} from "../definition/ModelCall.js"
import type { Preparation } from "../definition/StepPreparation.js"
import type { Task } from "../definition/Strategy.js"
import * as CallTelemetry from "./CallTelemetry.js"
import * as LiveReply from "./LiveReply.js"
import * as SideCalls from "./SideCalls.js"

/**
 * Maximum duration of a model call unless a strategy sets another.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultTimeout: Duration.Duration = Duration.seconds(120)

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly timeout?: Duration.DurationInput | undefined
  readonly role?: string | undefined
}

/**
 * Resolves the role of a task once and returns its model. Settings of the role win over those of the task, and settings
 * of a request win over both.
 *
 * @since 0.1.0
 * @category constructors
 */
export const bind = (
  task: Task,
  options: Options = {}
): Effect.Effect<Model, never, LlmClient.LlmClient | ModelRouter> =>
  task.preparation === undefined ? bindPlain(task, options) : bindPrepared(task, options, task.preparation)

/** Binds a task whose calls are prepared. A call that changes its role binds the model of that role. */
const bindPrepared = (
  task: Task,
  options: Options,
  preparation: Preparation
): Effect.Effect<Model, never, LlmClient.LlmClient | ModelRouter> =>
  Effect.flatMap(Effect.context<LlmClient.LlmClient | ModelRouter>(), (context) =>
    Effect.map(bindPlain(task, options), (model) =>
      preparation(model, task.tools, (role) => Effect.provide(bindPlain(task, { ...options, role }), context))
    )
  )

const bindPlain = (task: Task, options: Options): Effect.Effect<Model, never, LlmClient.LlmClient | ModelRouter> =>
  Effect.withFiberRuntime((fiber) => {
    // Reads the context once: one effect per service costs as much as a model call.
    const context = fiber.currentContext as Context.Context<LlmClient.LlmClient | ModelRouter>
    const role = options.role ?? task.role
    const { timeout } = options
    return role === undefined
      ? Effect.succeed(
          toModel(
            makeBinding({
              task,
              timeout,
              context,
              client: Context.get(context, LlmClient.LlmClient),
              base: task.settings
            })
          )
        )
      : Effect.map(Context.get(context, ModelRouter).resolve(role), ({ client, settings }) =>
          toModel(
            makeBinding({ task, timeout, context, role, client, base: ModelSettings.merge(task.settings, settings) })
          )
        )
  })

/** What all calls of one bound model share. */
interface Binding {
  readonly client: LlmClient.Service
  readonly metered: LlmClient.Service
  readonly role: string | undefined
  readonly base: ModelSettings.ModelSettings
  readonly run: Run.Service
  readonly step: Step.Service
  readonly isRecording: boolean
  readonly interceptors: ReadonlyArray<ModelCallInterceptor>
  readonly estimator: Estimator
  /** The gate as seen by what happens inside a call. */
  readonly innerGate: CallGate.Gate
  readonly counts: CallMeter.Counts
  readonly deadline: Deadline.Options<LlmError>
  /** Prepares the tool calls of earlier turns for the client, if the history has any. */
  readonly recalled: ReturnType<typeof RecalledCalls.within> | undefined
  readonly redactor: Telemetry.Redactor | undefined
  readonly provider: string
  readonly spanName: string
}

const makeBinding = ({
  base,
  client,
  context: given,
  role,
  task,
  timeout
}: {
  readonly task: Task
  readonly timeout: Duration.DurationInput | undefined
  readonly context: Context.Context<never>
  readonly client: LlmClient.Service
  readonly base: ModelSettings.ModelSettings
  readonly role?: string | undefined
}): Binding => {
  const context = given as Context.Context<
    | Run.Run
    | Step.Step
    | CostEstimator
    | CallGate.CallGate
    | ConversationInterceptors
    | ModelCallInterceptors
    | Telemetry.ContentRedactor
  >
  const run = Context.get(context, Run.Run)
  const step = Context.get(context, Step.Step)
  const interceptors = [
    ...Context.get(context, ConversationInterceptors),
    ...Context.get(context, ModelCallInterceptors)
  ]
  const innerGate = CallGate.gateInsideCall(Context.get(context, CallGate.CallGate), interceptors)
  return {
    client,
    metered: CallMeter.metered(client),
    role,
    base,
    run,
    step,
    isRecording: Step.isRecording(step),
    interceptors,
    estimator: Context.get(context, CostEstimator),
    innerGate,
    counts: CallMeter.counts(TokenCounter.inContext(given)),
    deadline: makeDeadline(client, timeout ?? task.limits.llmTimeout ?? defaultTimeout, innerGate),
    recalled: RecalledCalls.isIn(task.history) ? RecalledCalls.within(task.history) : undefined,
    redactor: run.telemetry.content ? Context.get(context, Telemetry.ContentRedactor) : undefined,
    provider: Telemetry.providerName(client.provider),
    spanName: `${Telemetry.SPAN_AGENT_LLM}.${run.agent}`
  }
}

const makeDeadline = (
  { model, provider }: LlmClient.Service,
  timeout: Duration.DurationInput,
  gate: CallGate.Gate
): Deadline.Options<LlmError> => {
  const millis = Duration.toMillis(timeout)
  return {
    whole: Number.isFinite(millis) ? millis : undefined,
    pausable: true,
    provide: (services) => services.set(CallGate.CallGate.key, gate),
    onTimeout: (_phase, timeoutMs) =>
      new LlmTimeoutError({
        provider,
        ...(model === undefined ? {} : { model }),
        phase: "whole",
        timeoutMs,
        message: `The model did not answer within ${timeoutMs} ms`,
        hint: "Raise the strategy's `llmTimeout`, or use a faster model"
      })
  }
}

/** Clients that rejected the tool calls of earlier turns and accepted them as text. */
const withoutCalls = new WeakSet<LlmClient.Service>()

/**
 * Sends a request, under the deadline that provides its gate. If the client rejects the tool calls of earlier turns,
 * sends it again with those calls as text.
 */
const complete = (
  binding: Binding,
  given: LlmClient.LlmRequest,
  options: LlmClient.CompleteOptions
): Effect.Effect<LlmClient.LlmResponse, LlmError> => {
  const { client, metered, recalled } = binding
  if (recalled === undefined) return metered.complete(given, options)
  const names = withoutCalls.has(client) ? undefined : (given.tools ?? []).map(({ name }) => name)
  const { hasCalls, messages } = recalled(given.messages, names)
  const request = { ...given, messages }
  if (!hasCalls) return metered.complete(request, options)
  return Effect.catchTag(metered.complete(request, options), "LlmInvalidRequestError", (error) =>
    Effect.mapBoth(metered.complete({ ...request, messages: RecalledCalls.asText(request.messages) }, options), {
      onSuccess: (response) => {
        withoutCalls.add(client)
        return response
      },
      // A second rejection has another reason: the first one is reported.
      onFailure: (again) => (again._tag === "LlmInvalidRequestError" ? error : again)
    })
  )
}

/** Whether nothing stands around the calls: `Spanned.call` then sets the deadline itself, at no extra cost. */
const isPlain = ({ interceptors, isRecording }: Binding): boolean => interceptors.length === 0 && !isRecording

/** The listeners of the parts of one reply. */
interface Listeners {
  /** The readers of the run and the caller. */
  readonly onParts: LlmClient.OnParts | undefined
  /** The caller: a recorded answer is not shown again. */
  readonly onRecorded: LlmClient.OnParts | undefined
}

const recordings = OnDemand.make(() => import("../../llm/model/RecordedCall.js"))

const begin = (
  binding: Binding,
  request: LlmClient.LlmRequest,
  { onParts, onRecorded }: Listeners,
  meter: LlmClient.Meter
): Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality> => {
  const { client, counts, deadline, interceptors, isRecording, step } = binding
  const options = onParts === undefined ? { meter } : { meter, onParts }
  if (isPlain(binding)) return complete(binding, request, options)
  const limited = (request: LlmClient.LlmRequest, options: LlmClient.CompleteOptions) =>
    Deadline.run(() => complete(binding, request, options), deadline)
  return SideCalls.intercept({
    interceptors,
    // Inside the interceptors: those that count and limit see recorded answers too.
    call: (request, meter) =>
      isRecording
        ? Effect.flatMap(recordings, ({ run }) =>
            run(step, request, { counts, meter, onParts, onRecorded }, (options) => limited(request, options))
          )
        : limited(request, { ...options, meter }),
    target: ({ settings }): Target => ({ provider: client.provider, model: settings?.model ?? client.model }),
    counts
  })(request, meter)
}

/** Gives every tool call of an answer its own id. A missing or repeated id would pair a result with the wrong call. */
const uniqueCalls = (response: LlmClient.LlmResponse, step: number): LlmClient.LlmResponse => {
  const calls = LlmClient.toolCalls(response)
  if (calls.length === 0 || (calls.length === 1 && calls[0]?.id !== "")) return response
  const seen = new Set<string>()
  let changed = false
  const content = response.content.map((part) => {
    if (part.type !== "tool-call" || part.providerExecuted === true) return part
    let id = part.id
    for (let n = seen.size; id === "" || seen.has(id); n++) id = `${part.id === "" ? "call" : part.id}_${step}_${n}`
    seen.add(id)
    if (id === part.id) return part
    changed = true
    return { ...part, id }
  })
  return changed ? { ...response, content } : response
}

const reportUsage = (
  { client, estimator, role, run }: Binding,
  response: LlmClient.LlmResponse,
  asked: string | undefined
): Effect.Effect<LlmClient.LlmResponse> => {
  const { finishReason, model = asked, provider = client.provider, usage } = response
  const costUsd = estimator.estimate({ provider, model, usage })
  const wait = run.unsafeEmit({ _tag: "UsageReported", usage, provider, finishReason, model, role, costUsd })
  return wait === undefined ? Exit.succeed(response) : Effect.as(wait, response)
}

/** Reports the usage of requests without an answer. Emits without waiting, because the run may be ending. */
const reportLost = ({ estimator, role, run, step }: Binding, spent: ReadonlyArray<LlmClient.Spent>): void => {
  // The process that goes on makes the call again, and reports it.
  if (step.isSuspended()) return
  for (const { model, provider, usage } of spent) {
    const costUsd = estimator.estimate({ provider, model, usage })
    void run.unsafeEmit({ _tag: "UsageReported", usage, provider, model, role, costUsd, cutOff: true })
  }
}

/** What receives the parts of a reply: the readers of the run, the caller, both or neither. */
const listenersOf = (
  { innerGate, run }: Binding,
  live: LiveReply.LiveReply,
  onParts: LlmClient.OnParts | undefined
): Listeners => {
  const onRecorded = onParts === undefined ? undefined : CallGate.consumeOutside(onParts, innerGate)
  if (!run.live) return { onParts: onRecorded, onRecorded }
  return {
    onParts: onRecorded === undefined ? live.emit : (parts) => Effect.zipRight(live.emit(parts), onRecorded(parts)),
    onRecorded
  }
}

const call = (
  binding: Binding,
  given: LlmClient.LlmRequest,
  options: CallOptions
): Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality> => {
  const { base, client, counts, provider, redactor, run, spanName, step } = binding
  const settings = given.settings === undefined ? base : ModelSettings.merge(base, given.settings)
  const request: LlmClient.LlmRequest = { ...given, settings }
  const model = settings.model ?? client.model
  const live = LiveReply.make(run, options.step, options.deltas)
  const listeners = listenersOf(binding, live, options.onParts)
  const { metrics, tracing } = run.telemetry
  const span = () => ({
    name: spanName,
    kind: "client" as const,
    attributes: CallTelemetry.span(run, {
      provider,
      request,
      settings,
      model,
      iteration: options.step,
      stream: listeners.onParts !== undefined,
      redactor
    })
  })
  return Spanned.call<LlmClient.LlmResponse, LlmError | Fatality, LlmClient.LlmResponse, LlmError | Fatality, never>(
    (fiber) => {
      const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
      const startedAt = clock.unsafeCurrentTimeMillis()
      const meter = CallMeter.make(counts)
      let lost: ReadonlyArray<LlmClient.Spent> = []
      return {
        span: tracing ? span() : undefined,
        deadline: isPlain(binding) ? binding.deadline : undefined,
        begin: () => begin(binding, request, listeners, meter),
        settle: (exit) => {
          lost = meter.spent(exit)
          if (!step.isSuspended()) reportLost(binding, lost)
          if (Exit.isFailure(exit)) return exit
          // In one step with the report, which waits for the reader of both: an interruption must not come between.
          live.finish(exit.value)
          return reportUsage(binding, uniqueCalls(exit.value, options.step), model)
        },
        onExit: (exit, span) => {
          if (step.isSuspended()) return
          const outcome = { exit, lost }
          if (metrics) {
            CallTelemetry.record(client.provider, model, outcome, clock.unsafeCurrentTimeMillis() - startedAt)
          }
          if (span !== undefined) CallTelemetry.annotate(span, outcome, redactor)
        }
      }
    }
  )
}

const toModel = (binding: Binding): Model => ({
  client: binding.client,
  call: (request, options) => call(binding, request, options)
})
