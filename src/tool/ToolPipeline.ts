/**
 * The pipeline of a tool call: visibility, decoding, approval, timeout, retries, handler, encoding, truncation.
 *
 * @private
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Tracer from "effect/Tracer"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import * as Spanned from "../internal/fiber/Spanned.js"
import * as Run from "../observability/Run.js"
import * as Step from "../observability/Step.js"
import * as Telemetry from "../observability/Telemetry.js"
import type * as ApprovalGate from "./approval/ApprovalGate.js"
import * as Observation from "./definition/Observation.js"
import * as SecretParams from "./definition/SecretParams.js"
import type * as Tool from "./definition/Tool.js"
import type { Bound } from "./definition/ToolSet.js"
import type * as ModuleGraph from "./ModuleGraph.js"
import type { Kept } from "./RecordedTool.js"
import * as ToolAttempts from "./ToolAttempts.js"
import type * as ToolCompensation from "./ToolCompensation.js"
import * as ToolOutcome from "./ToolOutcome.js"
import * as ToolPreparation from "./ToolPreparation.js"
import * as ToolProgress from "./ToolProgress.js"
import {
  defaults,
  type Fatality,
  type Outcome,
  type RunOptions,
  type Service,
  type ToolCall,
  type ToolInterceptor,
  ToolInterceptors
} from "./ToolRunner.js"
import * as ToolVisibility from "./ToolVisibility.js"

/**
 * @category models
 */
export interface Ports {
  readonly gate: ApprovalGate.Service
  readonly graph: ModuleGraph.Service
}

/** One call while it runs. */
interface Running {
  readonly tools: Bound
  readonly call: ToolCall
  readonly name: string
  readonly tool: Tool.Any | undefined
  readonly run: Run.Service
  readonly recorder: Step.Service
  /** The place of the call in its run. */
  readonly path: string
  readonly clock: Clock.Clock
  readonly options: RunOptions & { readonly step: number; readonly maxResultChars: number }
  readonly startedAt: number
  readonly progress: Progress
}

/** What the events of a call report, however it ends. */
interface Progress {
  attempts: number
  /** Milliseconds spent waiting for people. */
  waited: number
  /** `ToolCall` was emitted, `ToolResult` not yet. */
  isOpen: boolean
  /** Once it reports its progress to a reader. */
  reports: ToolProgress.Reports | undefined
}

const jsonOf = (value: unknown): string => Observation.stringify(value) ?? "null"

const recordings = OnDemand.make(() => import("./RecordedTool.js"))

const compensations = OnDemand.make(() => import("./ToolCompensation.js"))

/** A call whose arguments are decoded and approved. */
interface Ready {
  readonly call: ToolCall
  readonly tool: Tool.Any
  readonly params: unknown
  readonly serving: ToolProgress.Serving
}

/** Runs the handler of a call, or takes its recorded outcome. */
const handle = (
  gate: ApprovalGate.Service,
  running: Running,
  ready: Ready,
  outcome: (end: ToolOutcome.Finished) => Effect.Effect<Kept>
): Effect.Effect<Kept, Fatality> => {
  const { options, progress, recorder, run, tools } = running
  const { params, serving, tool } = ready
  const live = Effect.flatMap(
    ToolAttempts.run({
      tools,
      tool,
      params,
      serving,
      options,
      onProgress: (reported, onlyNumbers) => reportsOf(running)?.add(reported, onlyNumbers),
      onAttempt: (number) => {
        progress.attempts = number
      }
    }),
    outcome
  )
  if (!Step.isRecording(recorder) || tool.erased.isComposed === true) return live
  return Effect.flatMap(recordings, (recorded) => recorded.run({ recorder, gate, run, tools, ...ready, outcome }, live))
}

/** Runs the handler of a tool that states a compensation, or stated one when the call was recorded. */
const handleUndoable = (
  running: Running,
  ready: Ready,
  handled: (keep: ReturnType<typeof ToolCompensation.keeping>) => Effect.Effect<Kept, Fatality>
): Effect.Effect<Outcome, Fatality> =>
  Effect.flatMap(compensations, ({ keeping, watch }) => {
    const { progress } = running
    const watched = { ...running, ...ready, hasBegun: () => progress.attempts > 0 }
    return watch(watched, handled(keeping(watched)))
  })

/** The pipeline of a call from the model's arguments to the outcome. */
const pipeline = ({ gate, graph }: Ports, running: Running, call: ToolCall): Effect.Effect<Outcome, Fatality> => {
  const { options, progress, run, tools } = running
  const outcome = (end: ToolOutcome.Finished) => ToolOutcome.make(tools, call, end, options.maxResultChars)
  const ready = Effect.gen(function* () {
    const tool = yield* ToolVisibility.find(graph, tools, call.name)
    const decoded = yield* ToolPreparation.decode(tools, tool, call.params)
    const { asked, params } = yield* ToolPreparation.approve(gate, run, tools, tool, call, decoded, waitedBy(progress))
    return { asked, params, tool }
  })
  const plain = (ready: Ready): Effect.Effect<Outcome, Fatality> => {
    const handled = handle(gate, running, ready, outcome)
    if (!Step.isRecording(running.recorder)) return handled
    return Effect.flatMap(handled, (one) =>
      one.kept === undefined ? Exit.succeed(one) : handleUndoable(running, ready, () => Exit.succeed(one))
    )
  }
  const undoable = (ready: Ready) =>
    handleUndoable(running, ready, (keep) =>
      handle(gate, running, ready, (end) => Effect.flatMap(outcome(end), (made) => keep(end, made)))
    )
  return Effect.matchEffect(ready, {
    onFailure: (error) => outcome(ToolOutcome.stopped(error)),
    onSuccess: ({ asked, params, tool }) => {
      const ready: Ready = { call, tool, params, serving: servingOf(gate, running, call, tool) }
      const ended = tool.erased.compensation === undefined ? plain(ready) : undoable(ready)
      return asked ? Effect.map(ended, (one): Outcome => ({ ...one, approved: true })) : ended
    }
  })
}

const waitedBy = (progress: Progress) => (millis: number) => {
  progress.waited += millis
}

/** The call as its handler finds it. */
const servingOf = (
  gate: ApprovalGate.Service,
  { options, path, progress, run }: Running,
  call: ToolCall,
  tool: Tool.Any
): ToolProgress.Serving => ({
  runId: run.runId,
  gate,
  id: call.id,
  idempotencyKey: ToolAttempts.keyOf(run.runId, path, options.step, call.id),
  name: tool.name,
  step: options.step,
  isComposed: tool.erased.isComposed === true,
  isOpen: () => progress.isOpen,
  onWaited: waitedBy(progress),
  waiting: { questions: 0, since: 0 }
})

/** Where the progress of a call goes while it is open and somebody reads. */
const reportsOf = ({ call, clock, name, options, progress, run }: Running) => {
  if (!progress.isOpen || !run.sink.live) return undefined
  progress.reports ??= new ToolProgress.Reports(run, clock, { step: options.step, id: call.id, name })
  return progress.reports
}

type Next = (call: ToolCall) => Effect.Effect<Outcome, Fatality>

/** The call with the interceptors around it, the first one outermost. */
const intercept = (
  interceptors: ReadonlyArray<ToolInterceptor>,
  call: ToolCall,
  innermost: Next
): Effect.Effect<Outcome, Fatality> =>
  interceptors.reduceRight<Next>((next, interceptor) => (call) => interceptor(call, next), innermost)(call)

const emitCall = ({ call, name, options, progress, run, tool }: Running): Effect.Effect<void> | undefined => {
  progress.isOpen = true
  const secret = tool === undefined ? undefined : SecretParams.namesOf(tool)
  return run.unsafeEmit({
    _tag: "ToolCall",
    step: options.step,
    id: call.id,
    name,
    params: call.params,
    ...(secret === undefined ? {} : { secret }),
    ...(tool?.erased.isClient === true ? { clientTool: true as const } : {})
  })
}

const emitResult = (running: Running, outcome: Outcome): Effect.Effect<void> | undefined => {
  const { call, clock, name, options, progress, run, startedAt, tool } = running
  progress.reports?.flush()
  progress.isOpen = false
  const durationMs = clock.unsafeCurrentTimeMillis() - startedAt - progress.waited
  run.metrics?.tool(tool?.name ?? "unknown").record({ durationMs, isFailure: outcome.isFailure })
  return run.unsafeEmit({
    _tag: "ToolResult",
    step: options.step,
    id: call.id,
    name,
    isFailure: outcome.isFailure,
    result: outcome.result,
    observation: outcome.observation,
    truncated: outcome.truncated,
    durationMs,
    attempts: outcome.attempts,
    error: outcome.error,
    ...(outcome.files === undefined ? {} : { files: outcome.files })
  })
}

/** The work of a call: its refusal, or the pipeline inside the interceptors. */
const workOf = (ports: Ports, running: Running, context: Context.Context<any>): Effect.Effect<Outcome, Fatality> => {
  const { call, options, tools } = running
  if (options.refuse !== undefined) {
    return ToolOutcome.make(tools, call, ToolOutcome.stopped(options.refuse), options.maxResultChars)
  }
  return intercept(Context.get(context, ToolInterceptors), call, (call) => pipeline(ports, running, call))
}

/** Emits the outcome under the id of this call: an interceptor may answer for another one. */
const settle = (running: Running, exit: Exit.Exit<Outcome, Fatality>): Effect.Effect<Outcome, Fatality> => {
  if (Exit.isFailure(exit)) return exit
  const { id } = running.call
  const outcome = exit.value.id === id ? exit.value : { ...exit.value, id }
  const wait = emitResult(running, outcome)
  return wait === undefined ? Exit.succeed(outcome) : Effect.as(wait, outcome)
}

const annotate = (span: Tracer.Span, outcome: Outcome, redactor: Telemetry.Redactor | undefined): void => {
  if (outcome.isFailure) span.attribute(Telemetry.attribute.errorType, outcome.error?.tag ?? "ToolError")
  if (redactor === undefined) return
  span.attribute(Telemetry.attribute.genAiToolResult, Telemetry.content(redactor, outcome.observation))
}

/** Annotates the span, and emits the result of a call that ended with its run. */
const conclude = (
  running: Running,
  context: Context.Context<any>,
  redactor: Telemetry.Redactor | undefined,
  exit: Exit.Exit<Outcome, Fatality>,
  span: Tracer.Span | undefined
): void => {
  if (Exit.isSuccess(exit)) {
    if (span !== undefined && (redactor !== undefined || exit.value.isFailure)) annotate(span, exit.value, redactor)
  } else if (!Context.get(context, Step.Step).isSuspended()) {
    span?.attribute(Telemetry.attribute.errorType, Telemetry.errorType(exit.cause as Cause.Cause<unknown>))
    const { call, name, progress } = running
    if (progress.isOpen) emitResult(running, ToolOutcome.cutOff(call, name, exit.cause, progress.attempts))
  }
}

const spanOf = ({ call, name, options, run, tool }: Running, redactor: Telemetry.Redactor | undefined) => {
  const attributes = Telemetry.tool({ agent: run.agent, tool: name, callId: call.id })
  if (tool !== undefined) attributes[Telemetry.attribute.genAiToolDescription] = tool.description
  if (redactor !== undefined) {
    const shown = Telemetry.content(redactor, jsonOf(call.params))
    attributes[Telemetry.attribute.genAiToolArguments] = Observation.truncate(shown, options.maxResultChars).text
  }
  return { name: `${Telemetry.SPAN_AGENT_TOOL}.${tool?.name ?? "unknown"}`, attributes }
}

const begin = (
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  tools: Bound,
  call: ToolCall,
  own: RunOptions | undefined,
  given: RunOptions | undefined
): Running => {
  const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
  const tool = tools.get(call.name)
  return {
    tools,
    call,
    tool,
    name: ToolOutcome.nameOf(tool, call),
    run: Context.get(fiber.currentContext as Context.Context<any>, Run.Run),
    recorder: Context.get(fiber.currentContext as Context.Context<any>, Step.Step),
    path: Context.get(fiber.currentContext as Context.Context<any>, Step.Place).path,
    clock,
    options: {
      step: given?.step ?? 0,
      timeout: given?.timeout ?? own?.timeout,
      maxAttempts: given?.maxAttempts ?? own?.maxAttempts,
      maxResultChars: given?.maxResultChars ?? own?.maxResultChars ?? defaults.maxResultChars,
      refuse: given?.refuse
    },
    startedAt: clock.unsafeCurrentTimeMillis(),
    progress: { attempts: 0, waited: 0, isOpen: false, reports: undefined }
  }
}

/**
 * Runs one call.
 *
 * @category constructors
 */
export const run =
  (ports: Ports, own: RunOptions | undefined): Service["run"] =>
  (tools, call, given) =>
    Spanned.call<Outcome, Fatality, Outcome, Fatality, never>((fiber) => {
      const running = begin(fiber, tools, call, own, given)
      const context = fiber.currentContext as Context.Context<any>
      const { content, tracing } = running.run.telemetry
      const redactor = content ? Context.get(context, Telemetry.ContentRedactor) : undefined
      return {
        span: tracing ? spanOf(running, redactor) : undefined,
        deadline: undefined,
        begin: () => {
          const wait = emitCall(running)
          return wait === undefined
            ? workOf(ports, running, context)
            : Effect.zipRight(
                wait,
                Effect.suspend(() => workOf(ports, running, context))
              )
        },
        settle: (exit) => settle(running, exit),
        onExit: (exit, span) => conclude(running, context, redactor, exit, span)
      }
    })
