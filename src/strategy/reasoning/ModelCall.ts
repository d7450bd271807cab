/**
 * How strategies call models: through the router, with a deadline, a span, live deltas and a report of what was used.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Tracer from "effect/Tracer"
import type { Body } from "../../domain/AgentEvent.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Spanned from "../../internal/fiber/Spanned.js"
import * as Stepwise from "../../internal/fiber/Stepwise.js"
import * as JsonText from "../../internal/text/JsonText.js"
import { ModelRouter } from "../../llm/ModelRouter.js"
import * as CallGate from "../../llm/model/CallGate.js"
import * as CallMeter from "../../llm/model/CallMeter.js"
import { CostEstimator } from "../../llm/model/CostEstimator.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import { LlmCallRefusedError, type LlmError, LlmTimeoutError } from "../../llm/model/LlmError.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as RecalledCalls from "../../llm/model/RecalledCalls.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as ModelMetrics from "../../observability/ModelMetrics.js"
import * as Run from "../../observability/Run.js"
import * as SpanMessages from "../../observability/SpanMessages.js"
import * as Step from "../../observability/Step.js"
import * as Telemetry from "../../observability/Telemetry.js"
import * as Veil from "../../observability/Veil.js"
import { Fatality } from "../../tool/ToolRunner.js"
import type { OutputSpec, Task } from "./Strategy.js"
import { OutputValidationError } from "./StrategyError.js"

/**
 * Whom a call goes to, as far as is known before it answers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Target extends CallGate.Target {}

/**
 * A wrapper around model calls of a run: how limits and budgets see calls before and after. `spent` says what requests
 * used that went out from here, besides an answer (`CallMeter.spent`): to be asked when the call has ended, however it
 * did.
 *
 * @since 0.1.0
 * @category models
 */
export type ModelCallInterceptor = (
  request: LlmClient.LlmRequest,
  next: (request: LlmClient.LlmRequest) => Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality>,
  target: Target,
  spent: CallMeter.CallMeter["spent"]
) => Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality>

/**
 * The wrappers of the current run, outermost first: around the calls of its strategy, and around those of its tools,
 * skills, guards and memory (`sideCalls`).
 *
 * @since 0.1.0
 * @category tags
 */
export class ModelCallInterceptors extends Ambient.Reference<ModelCallInterceptors>()(
  "effect-lexigram/strategy/ModelCall/ModelCallInterceptors",
  { defaultValue: (): ReadonlyArray<ModelCallInterceptor> => [] }
) {}

/**
 * Wrappers around the calls of the strategy alone, outside of those of `ModelCallInterceptors`: what belongs into the
 * conversation.
 *
 * @since 0.1.0
 * @category tags
 */
export class ConversationInterceptors extends Ambient.Reference<ConversationInterceptors>()(
  "effect-lexigram/strategy/ModelCall/ConversationInterceptors",
  { defaultValue: (): ReadonlyArray<ModelCallInterceptor> => [] }
) {}

/** The call behind the wrappers, each of which hears what goes out from it. */
const intercepted = ({
  call,
  counts,
  interceptors,
  target
}: {
  readonly interceptors: ReadonlyArray<ModelCallInterceptor>
  readonly call: CallGate.Call<LlmError | Fatality>
  readonly target: (request: LlmClient.LlmRequest) => Target
  readonly counts: CallMeter.Counts
}): CallGate.Call<LlmError | Fatality> =>
  interceptors.reduceRight<CallGate.Call<LlmError | Fatality>>(
    (next, interceptor) => (request, outer) => {
      const meter = CallMeter.make(counts, outer)
      return interceptor(request, (request) => next(request, meter), target(request), meter.spent)
    },
    call
  )

const refused = (error: LlmError | Fatality, { model, provider }: Target): LlmError => {
  if (!(error instanceof Fatality)) return error
  const why = error.error
  const message = why instanceof Error ? why.message : String(why)
  return new LlmCallRefusedError({
    provider,
    ...(model === undefined ? {} : { model }),
    message: `The model call was refused: ${message}`,
    hint: "Raise what limits the run, or do without this call",
    cause: why
  })
}

/**
 * The gate of runs and budgets for the model calls of everything but strategies: they pass the wrappers that are around
 * them, and tell the run what they used. What ends a run when its strategy asks is a `LlmCallRefusedError` here. A call
 * that outlives its run belongs to nobody.
 *
 * @internal
 */
export const sideCalls: CallGate.Gate = CallGate.make((request, next, target) =>
  Effect.withFiberRuntime((fiber) => {
    const context = fiber.currentContext
    if (Context.get(context, Run.Run).isOver()) return next(request)
    const interceptors = Context.get(context, ModelCallInterceptors)
    if (interceptors.length === 0) return CallGate.counted(request, next, target)
    const targetOf = ({ settings }: LlmClient.LlmRequest): Target => ({
      ...target,
      model: settings?.model ?? target.model
    })
    const counts = CallMeter.counts(TokenCounter.inContext(context))
    const call = intercepted({
      interceptors,
      call: (request, meter) => next(request, meter, interceptors),
      target: targetOf,
      counts
    })
    return CallGate.counted(
      request,
      (asked, meter) => Effect.mapError(call(asked, meter), (error) => refused(error, target)),
      target
    )
  })
)

/**
 * Longest a model call may take unless a strategy says otherwise.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultTimeout: Duration.Duration = Duration.seconds(120)

/**
 * @since 0.1.0
 * @category models
 */
export interface CallOptions {
  /** The step it belongs to, from 1. */
  readonly step: number
  /**
   * Turns parts of the answer into live events; by default text into `TextDelta` and reasoning into `ReasoningDelta`.
   */
  readonly deltas?: ((parts: ReadonlyArray<LlmClient.LlmPart>) => ReadonlyArray<Body>) | undefined
  /** Sees the parts as they arrive, whoever reads the run: with it the answer is always streamed. */
  readonly onParts?: LlmClient.OnParts | undefined
}

/**
 * A model made ready for one task.
 *
 * @since 0.1.0
 * @category models
 */
export interface Model {
  readonly client: LlmClient.Service
  readonly call: (
    request: LlmClient.LlmRequest,
    options: CallOptions
  ) => Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality>
}

const textDeltas = (parts: ReadonlyArray<LlmClient.LlmPart>): ReadonlyArray<Body> => {
  const bodies: Array<Body> = []
  for (const part of parts) {
    if (part.type === "text-delta") {
      if (part.delta !== "") bodies.push({ _tag: "TextDelta", text: part.delta })
    } else if (part.type === "reasoning-delta" && part.delta !== "") {
      bodies.push({ _tag: "ReasoningDelta", text: part.delta })
    }
  }
  return bodies
}

const isText = ({ _tag }: Body): boolean => _tag === "TextDelta"

/** The model calls tools, or has not come to its end: what it said is no answer. */
const goesOn = (response: LlmClient.LlmResponse): boolean =>
  response.finishReason === "pause" || LlmClient.toolCalls(response).length > 0

/** Texts of one call as far as they may be shown; long ones are judged in steps. */
const screenedDeltas = (screen: Run.Screen, deltas: NonNullable<CallOptions["deltas"]>) => {
  const texts = { TextDelta: screen.open(), ReasoningDelta: screen.open() }
  const pace = new Stepwise.Pace()
  return {
    *deltas(parts: ReadonlyArray<LlmClient.LlmPart>): Stepwise.Steps<ReadonlyArray<Body>> {
      const shown: Array<Body> = []
      for (const body of deltas(parts)) {
        if (body._tag !== "TextDelta" && body._tag !== "ReasoningDelta") {
          shown.push(body)
          continue
        }
        const text = yield* Veil.pushed(texts[body._tag], body.text, pace)
        if (text !== "") shown.push({ _tag: body._tag, text })
      }
      return shown
    },
    rest: (): ReadonlyArray<Body> => {
      const rest: Array<Body> = []
      for (const tag of ["ReasoningDelta", "TextDelta"] as const) {
        const text = texts[tag].end()
        if (text !== "") rest.push({ _tag: tag, text })
      }
      return rest
    }
  }
}

/** Ids that are missing or given twice in one answer would pair a result with the wrong call. */
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

/**
 * Resolves the task's role once and gives back how to call it. Settings of the role win over the task's, those of a
 * request over both.
 *
 * @since 0.1.0
 * @category constructors
 */
export const bind = (
  task: Task,
  options?: { readonly timeout?: Duration.DurationInput | undefined; readonly role?: string | undefined }
): Effect.Effect<Model, never, LlmClient.LlmClient | ModelRouter> =>
  Effect.withFiberRuntime((fiber) => {
    // One look at the context: asking for each service by an effect of its own costs as much as a model call.
    const context = fiber.currentContext as Context.Context<LlmClient.LlmClient | ModelRouter>
    const role = options?.role ?? task.role
    return role === undefined
      ? Effect.succeed(
          ready(task, options, context, undefined, Context.get(context, LlmClient.LlmClient), task.settings)
        )
      : Effect.map(Context.get(context, ModelRouter).resolve(role), ({ client, settings }) =>
          ready(task, options, context, role, client, ModelSettings.merge(task.settings, settings))
        )
  })

/** Clients that refused the calls of earlier turns, and took them as text. */
const withoutCalls = new WeakSet<LlmClient.Service>()

const ready = (
  task: Task,
  options: { readonly timeout?: Duration.DurationInput | undefined } | undefined,
  context: Context.Context<never>,
  role: string | undefined,
  client: LlmClient.Service,
  base: ModelSettings.ModelSettings
): Model => {
  const run = Context.get(context as Context.Context<Run.Run>, Run.Run)
  const interceptors = [
    ...Context.get(context as Context.Context<ConversationInterceptors>, ConversationInterceptors),
    ...Context.get(context as Context.Context<ModelCallInterceptors>, ModelCallInterceptors)
  ]
  const estimator = Context.get(context as Context.Context<CostEstimator>, CostEstimator)
  const gate = Context.get(context as Context.Context<CallGate.CallGate>, CallGate.CallGate)
  const behind = CallGate.behind(gate, interceptors)
  const step = Context.get(context as Context.Context<Step.Step>, Step.Step)
  const recorded = Step.isRecording(step)
  const spanName = `${Telemetry.SPAN_AGENT_LLM}.${run.agent}`
  const millis = Duration.toMillis(options?.timeout ?? task.limits.llmTimeout ?? defaultTimeout)
  const whole = Number.isFinite(millis) ? millis : undefined
  const onTimeout = (_phase: Deadline.Phase, timeoutMs: number) =>
    new LlmTimeoutError({
      provider: client.provider,
      ...(client.model === undefined ? {} : { model: client.model }),
      phase: "whole",
      timeoutMs,
      message: `The model did not answer within ${timeoutMs} ms`,
      hint: "Raise the strategy's `llmTimeout`, or use a faster model"
    })

  const deadline: Deadline.Options<LlmError> = { whole, pausable: true, onTimeout }
  const told = RecalledCalls.isIn(task.history) ? RecalledCalls.within(task.history) : undefined
  const metered = CallMeter.metered(client)
  const counts = CallMeter.counts(TokenCounter.inContext(context))
  const send = (request: LlmClient.LlmRequest, options: LlmClient.CompleteOptions) =>
    CallGate.passed(metered, request, options, behind)
  const complete = (given: LlmClient.LlmRequest, options: LlmClient.CompleteOptions) => {
    if (told === undefined) return send(given, options)
    const names = withoutCalls.has(client) ? undefined : (given.tools ?? []).map(({ name }) => name)
    const { hasCalls, messages } = told(given.messages, names)
    const request = { ...given, messages }
    if (!hasCalls) return send(request, options)
    return Effect.catchTag(send(request, options), "LlmInvalidRequestError", (error) => {
      const again = send({ ...request, messages: RecalledCalls.asText(request.messages) }, options)
      return Effect.mapBoth(again, {
        onSuccess: (response) => {
          withoutCalls.add(client)
          return response
        },
        // Refused for another reason, it is refused again.
        onFailure: (again) => (again._tag === "LlmInvalidRequestError" ? error : again)
      })
    })
  }

  const target = ({ settings }: LlmClient.LlmRequest): Target => ({
    provider: client.provider,
    model: settings?.model ?? client.model
  })

  const isPlain = interceptors.length === 0 && !recorded
  const begin = (
    request: LlmClient.LlmRequest,
    onParts: LlmClient.OnParts | undefined,
    meter: LlmClient.Meter
  ): ReturnType<Spanned.Call<LlmClient.LlmResponse, LlmError | Fatality, any, any, never>["begin"]> => {
    const options = onParts === undefined ? { meter } : { meter, onParts }
    if (isPlain) return { effect: complete(request, options), deadline }
    const call: CallGate.Call<LlmError | Fatality> = (request, meter) =>
      Deadline.run(() => complete(request, { ...options, meter }), deadline)
    const work = intercepted({ interceptors, call, target, counts })(request, meter)
    return {
      effect: recorded ? step.run({ kind: "llm", hash: () => JSON.stringify(request) }, work) : work,
      deadline: undefined
    }
  }

  const report = (
    answered: LlmClient.LlmResponse,
    model: string | undefined,
    callOptions: CallOptions
  ): Effect.Effect<LlmClient.LlmResponse> => {
    const response = uniqueCalls(answered, callOptions.step)
    const provider = response.provider ?? client.provider
    const { usage } = response
    const wait = run.unsafeEmit({
      _tag: "UsageReported",
      usage,
      provider,
      finishReason: response.finishReason,
      model: response.model ?? model,
      role,
      costUsd: estimator.estimate({ provider, model: response.model ?? model, usage })
    })
    return wait === undefined ? Exit.succeed(response) : Effect.as(wait, response)
  }

  /** Told at once and waited for by nobody: the run may be ending. */
  const reportLost = (spent: ReadonlyArray<LlmClient.Spent>): void => {
    for (const { model, provider, usage } of spent) {
      const costUsd = estimator.estimate({ provider, model, usage })
      void run.unsafeEmit({ _tag: "UsageReported", usage, provider, model, role, costUsd, cutOff: true })
    }
  }

  const { content, metrics, tracing } = run.telemetry
  const provider = Telemetry.providerName(client.provider)
  const redactor = content
    ? Context.get(context as Context.Context<Telemetry.ContentRedactor>, Telemetry.ContentRedactor)
    : undefined

  const record = (
    exit: Exit.Exit<LlmClient.LlmResponse, LlmError | Fatality>,
    model: string | undefined,
    durationMs: number,
    lost: ReadonlyArray<LlmClient.Spent>
  ) => {
    const { called } = ModelMetrics.forModel(client.provider, model)
    if (Exit.isFailure(exit)) called({ durationMs, errorType: Telemetry.errorType(exit.cause), lost })
    else called({ durationMs, responseModel: exit.value.model, usage: exit.value.usage, lost })
  }

  const annotate = (
    exit: Exit.Exit<LlmClient.LlmResponse, LlmError | Fatality>,
    span: Tracer.Span,
    lost: ReadonlyArray<LlmClient.Spent>
  ) => {
    if (Exit.isFailure(exit)) {
      span.attribute(Telemetry.attribute.errorType, Telemetry.errorType(exit.cause))
      if (lost.length > 0) Telemetry.llmUsage(CallMeter.total(lost), (key, value) => span.attribute(key, value))
      return
    }
    const response = exit.value
    Telemetry.llmResponse(response, (key, value) => span.attribute(key, value))
    if (redactor !== undefined) {
      span.attribute(Telemetry.attribute.genAiOutputMessages, SpanMessages.output(redactor, response))
    }
  }

  const spanOf = (request: LlmClient.LlmRequest, model: string | undefined, iteration: number, stream: boolean) => {
    const attributes = Telemetry.llm({ agent: run.agent, iteration, provider, sessionId: run.sessionId })
    const set = (key: string, value: unknown) => {
      attributes[key] = value
    }
    const { frequencyPenalty, maxTokens, presencePenalty, seed, stop, temperature, topP } = request.settings ?? base
    const asked = { model, temperature, maxTokens, topP, stop, seed, presencePenalty, frequencyPenalty, stream }
    Telemetry.llmRequest(asked, set)
    if (request.responseFormat !== undefined) set(Telemetry.attribute.genAiOutputType, request.responseFormat.type)
    if (redactor !== undefined) {
      set(Telemetry.attribute.genAiInputMessages, SpanMessages.input(redactor, request.messages))
    }
    return { name: spanName, kind: "client" as const, attributes }
  }

  const call: Model["call"] = (given, callOptions) => {
    const settings = given.settings === undefined ? base : ModelSettings.merge(base, given.settings)
    const request: LlmClient.LlmRequest = { ...given, settings }
    const screened =
      run.live && run.screen !== undefined ? screenedDeltas(run.screen, callOptions.deltas ?? textDeltas) : undefined
    const deltas = callOptions.deltas ?? textDeltas
    let isTextShown = false
    const show = (bodies: ReadonlyArray<Body>): Effect.Effect<void> => {
      isTextShown ||= bodies.some(isText)
      return run.emitAll(bodies)
    }
    const emit = (parts: ReadonlyArray<LlmClient.LlmPart>): Effect.Effect<void> =>
      screened === undefined ? show(deltas(parts)) : Effect.flatMap(Stepwise.turning(screened.deltas(parts)), show)
    const seen = callOptions.onParts === undefined ? undefined : CallGate.heard(callOptions.onParts, behind)
    const onParts: LlmClient.OnParts | undefined = !run.live
      ? seen
      : seen === undefined
        ? emit
        : (parts) => Effect.zipRight(emit(parts), seen(parts))
    const model = settings.model ?? client.model
    return Spanned.call<LlmClient.LlmResponse, LlmError | Fatality, LlmClient.LlmResponse, LlmError | Fatality, never>(
      (fiber) => {
        const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
        const startedAt = clock.unsafeCurrentTimeMillis()
        const meter = CallMeter.make(counts)
        let lost: ReadonlyArray<LlmClient.Spent> = []
        return {
          span: tracing ? spanOf(request, model, callOptions.step, onParts !== undefined) : undefined,
          begin: () => begin(request, onParts, meter),
          settle: (exit) => {
            lost = meter.spent(exit)
            if (!step.isSuspended()) reportLost(lost)
            if (Exit.isFailure(exit)) return exit
            // In one step with the report, which waits for the reader of both: an interruption may not come between.
            const rest = screened?.rest() ?? []
            for (const body of rest) void run.unsafeEmit(body)
            if ((isTextShown || rest.some(isText)) && goesOn(exit.value)) {
              void run.unsafeEmit({ _tag: "TextRetracted", step: callOptions.step })
            }
            return report(exit.value, model, callOptions)
          },
          onExit: (exit, span) => {
            if (step.isSuspended()) return
            if (metrics) record(exit, model, clock.unsafeCurrentTimeMillis() - startedAt, lost)
            if (span !== undefined) annotate(exit, span, lost)
          }
        }
      }
    )
  }
  return { client, call }
}

/**
 * The messages a strategy begins with: system prompt (left out when empty), history, the user's message.
 *
 * @since 0.1.0
 * @category constructors
 */
export const openingMessages = (task: Task, system: string = task.system): ReadonlyArray<LlmClient.Message> => {
  const user: LlmClient.Message = { role: "user", content: task.input }
  return system === "" ? [...task.history, user] : [{ role: "system", content: system }, ...task.history, user]
}

/**
 * Brings an answer into the shape the task asks for. A text that does not fit goes back to the model with what is
 * wrong, in a call that may only answer in that shape; after the task's retries the run ends with
 * `OutputValidationError`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const structured = (
  model: Model,
  spec: OutputSpec,
  options: {
    readonly strategyName: string
    readonly step: number
    readonly messages: ReadonlyArray<LlmClient.Message>
    readonly text: string
  }
): Effect.Effect<{ readonly text: string; readonly output: unknown }, LlmError | Fatality> => {
  const attempt = (
    text: string,
    messages: ReadonlyArray<LlmClient.Message>,
    count: number
  ): Effect.Effect<{ readonly text: string; readonly output: unknown }, LlmError | Fatality> =>
    Effect.matchEffect(
      Effect.flatMap(Either.mapLeft(JsonText.read(text), String), (value) => spec.decode(value)),
      {
        onSuccess: (output) => Effect.succeed({ text, output }),
        onFailure: (issues) => {
          if (count > spec.retries) {
            return Effect.fail(
              new Fatality({
                toolName: "",
                error: new OutputValidationError({
                  strategyName: options.strategyName,
                  text: text.slice(0, 2000),
                  issues: issues.slice(0, 2000),
                  attempts: count,
                  message: `The answer does not fit the output schema after ${count} attempts: ${issues.slice(0, 500)}`,
                  hint: "Simplify the schema, describe its fields, or raise the output retries"
                })
              })
            )
          }
          const next: ReadonlyArray<LlmClient.Message> = [
            ...messages,
            ...(text === "" ? [] : [{ role: "assistant" as const, content: text }]),
            {
              role: "user",
              content: `Give the answer as JSON that fits the schema, and nothing else. What is wrong so far: ${issues.slice(0, 2000)}`
            }
          ]
          return Effect.flatMap(
            model.call(
              {
                messages: next,
                responseFormat: { type: "json", name: spec.name, schema: spec.jsonSchema }
              },
              { step: options.step, deltas: () => [] }
            ),
            (response) => attempt(LlmClient.text(response), next, count + 1)
          )
        }
      }
    )
  return attempt(options.text, options.messages, 1)
}
