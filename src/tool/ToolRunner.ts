/**
 * The one place where tools run: visibility, decoding, approval, timeout, retries, handler, encoding, bounds.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Tracer from "effect/Tracer"
import { ErrorInfo, errorInfo } from "../domain/ErrorInfo.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import * as Ambient from "../internal/fiber/Ambient.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as Spanned from "../internal/fiber/Spanned.js"
import { nearest } from "../internal/text/Nearest.js"
import * as SecretText from "../internal/text/SecretText.js"
import * as Run from "../observability/Run.js"
import * as Step from "../observability/Step.js"
import * as Telemetry from "../observability/Telemetry.js"
import * as ApprovalGate from "./approval/ApprovalGate.js"
import * as HandledTool from "./definition/HandledTool.js"
import type { Issue } from "./definition/JsonSchemaValidator.js"
import * as Observation from "./definition/Observation.js"
import * as SecretParams from "./definition/SecretParams.js"
import type * as Tool from "./definition/Tool.js"
import * as ToolArguments from "./definition/ToolArguments.js"
import {
  ToolAccessDeniedError,
  ToolApprovalDeniedError,
  type ToolError,
  ToolExecutionError,
  ToolNotFoundError,
  ToolTimeoutError,
  ToolValidationError
} from "./definition/ToolError.js"
import type { Bound } from "./definition/ToolSet.js"
import * as ModuleGraph from "./ModuleGraph.js"

/**
 * A call as the model made it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolCall {
  readonly id: string
  /** The tool's own name, or the provider's. */
  readonly name: string
  readonly params: unknown
}

/**
 * How a call ended, plain and encodable. `result` is what the model gets as the value (bounded), `observation` the same
 * as text.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Outcome = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  isFailure: Schema.Boolean,
  result: Schema.Unknown,
  observation: Schema.String,
  truncated: Schema.Boolean,
  attempts: Schema.Number,
  /** Somebody was asked, and allowed the call. */
  approved: Schema.optional(Schema.Boolean),
  error: Schema.optional(ErrorInfo)
}).annotations({ identifier: "effect-lexigram/tool/ToolRunner/Outcome" })
/**
 * @since 0.1.0
 * @category models
 */
export interface Outcome extends Schema.Schema.Type<typeof Outcome> {}

/**
 * Carries a failure that ends the run from the tool to the executor, which puts it into the agent's error channel.
 *
 * @since 0.1.0
 * @category errors
 */
export class Fatality {
  readonly _tag = "Fatality"
  readonly error: unknown
  readonly toolName: string
  /** `error` encoded by the tool's failure schema, where it has one. */
  readonly encoded: unknown
  constructor(options: { readonly error: unknown; readonly toolName: string; readonly encoded?: unknown }) {
    this.error = options.error
    this.toolName = options.toolName
    this.encoded = options.encoded
  }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  /** The step of the strategy the call belongs to; for events. */
  readonly step?: number | undefined
  /** Time for one attempt of a tool that does not say otherwise. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Attempts in all for a tool that does not say otherwise. */
  readonly maxAttempts?: number | undefined
  /** Characters of a result that reach the model. */
  readonly maxResultChars?: number | undefined
  /** Why the call is not run: then this is its result, and no interceptor sees it. */
  readonly refuse?: ToolError | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Runs one call to its end. Whatever goes wrong with it is an `Outcome` the model can act on; it fails only with what
   * the tool declares fatal. Emits `ToolCall` before and `ToolResult` after, exactly one each, also when it is
   * interrupted.
   */
  readonly run: (tools: Bound, call: ToolCall, options?: RunOptions | undefined) => Effect.Effect<Outcome, Fatality>
  /**
   * The set as the calling module (`CallerModule`) may see it: what models are told of. The same set where nothing is
   * hidden. A hidden tool that is called all the same is still found, and denied.
   */
  readonly visible: (tools: Bound) => Effect.Effect<Bound>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ToolRunner extends Context.Tag("effect-lexigram/tool/ToolRunner")<ToolRunner, Service>() {}

/**
 * A wrapper around every call of a run: how guards, governance and hooks see calls and observations.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolInterceptor = (
  call: ToolCall,
  next: (call: ToolCall) => Effect.Effect<Outcome, Fatality>
) => Effect.Effect<Outcome, Fatality>

/**
 * The wrappers of the current run, outermost first.
 *
 * @since 0.1.0
 * @category tags
 */
export class ToolInterceptors extends Ambient.Reference<ToolInterceptors>()(
  "effect-lexigram/tool/ToolRunner/ToolInterceptors",
  { defaultValue: (): ReadonlyArray<ToolInterceptor> => [] }
) {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  timeout: Duration.seconds(30),
  maxAttempts: 3,
  maxResultChars: 10_000
} as const

/** Waits between attempts: 1 s, 2 s, 4 s, …, at most 30 s. */
const backoff = (attempt: number): Duration.Duration => Duration.millis(Math.min(2 ** (attempt - 1) * 1000, 30_000))

/**
 * A text cut to `max` characters with a marker that says so; a surrogate pair is never split.
 *
 * @since 0.1.0
 * @category conversions
 */
export const truncate: typeof Observation.truncate = Observation.truncate

const jsonOf = (value: unknown): string => Observation.stringify(value) ?? "null"

/** Failures quote what came from elsewhere, addresses with keys among it. */
const redacted = (text: string): string => SecretText.redact(text.slice(0, 4000)).slice(0, 2000)

const describeError = (tool: Tool.Any, error: unknown): string => {
  if (typeof error !== "object" || error === null) return String(error)
  const { _tag: tag, message } = error as { readonly _tag?: unknown; readonly message?: unknown }
  if (typeof message === "string" && message !== "") return message
  const encoded = Observation.stringify(tool.erased.encodeFailure(error))
  if (encoded !== undefined) return encoded
  if (typeof tag === "string") return tag
  return error instanceof Error ? error.name : (Observation.stringify(error) ?? "it did not say why")
}

const hintOf = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  const hint = (error as { readonly hint?: unknown }).hint
  return typeof hint === "string" && hint !== "" ? redacted(hint) : undefined
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** What a failed call says to the model: what happened, and what to do about it. */
const failureText = (error: ToolError): string =>
  error.hint === undefined ? `Error: ${error.message}` : `Error: ${sentence(error.message)} ${error.hint}`

const notFound = (name: string, tools: Bound): ToolNotFoundError => {
  const availableTools = tools.definitions.map((definition) => definition.name)
  const shown = name.slice(0, 128)
  const similar = nearest(shown, availableTools)
  return new ToolNotFoundError({
    toolName: shown,
    availableTools,
    message: `There is no tool named "${shown}"`,
    hint:
      availableTools.length === 0
        ? "No tools are available: answer without them"
        : `${similar === undefined ? "" : `Did you mean "${similar}"? `}Available tools: ${availableTools.slice(0, 50).join(", ")}`
  })
}

/**
 * The module the current agent belongs to; what `ModuleGraph` decides visibility for.
 *
 * @since 0.1.0
 * @category tags
 */
export class CallerModule extends Ambient.Reference<CallerModule>()("effect-lexigram/tool/ToolRunner/CallerModule", {
  defaultValue: (): string | undefined => undefined
}) {}

interface Finished {
  readonly value: unknown
  readonly error: ToolError | undefined
  readonly attempts: number
  readonly approved?: true
}

/** What is known of a call while it runs: for its events, however it ends. */
interface Progress {
  attempts: number
  /** Milliseconds in which somebody was asked for approval. */
  waited: number
}

const refused = (error: ToolError, attempts: number = 0): Finished => ({ value: undefined, error, attempts })

const invalid = (tool: Tool.Any, issues: ReadonlyArray<Issue>): ToolValidationError =>
  new ToolValidationError({
    toolName: tool.name,
    field: issues[0]?.path,
    issues: issues.slice(0, 20),
    message: `The arguments of "${tool.name}" are not valid: ${issues
      .slice(0, 20)
      .map((issue) => (issue.path === "" ? issue.message : `${issue.path}: ${issue.message}`))
      .join("; ")
      .slice(0, 2000)}`,
    hint: "Correct the arguments and call the tool again"
  })

/** Decodes and goes on, without an effect of its own when the schema decodes at once. */
const decoded = (
  tools: Bound,
  tool: Tool.Any,
  raw: unknown,
  next: (params: unknown) => Effect.Effect<Finished, Fatality>
): Effect.Effect<Finished, Fatality> => {
  const args = ToolArguments.normalise(raw, tool.parameters)
  const first = tool.erased.decode(args)
  if (Either.isEither(first) && Either.isRight(first)) return next(first.right)
  return Effect.matchEffect(tools.provide(first), {
    onSuccess: next,
    onFailure: (issues) => {
      const without = ToolArguments.withoutNulls(args, tool.parameters)
      if (without === args) return Effect.succeed(refused(invalid(tool, issues)))
      return Effect.matchEffect(tools.provide(tool.erased.decode(without)), {
        onSuccess: next,
        onFailure: (issues) => Effect.succeed(refused(invalid(tool, issues)))
      })
    }
  })
}

const timeoutOf = (tool: Tool.Any, options: RunOptions | undefined): number | undefined => {
  const millis = Duration.toMillis(tool.annotations.timeout ?? options?.timeout ?? defaults.timeout)
  return Number.isFinite(millis) ? millis : undefined
}

const executionError = (tool: Tool.Any, error: unknown): ToolExecutionError =>
  new ToolExecutionError({
    toolName: tool.name,
    message: `"${tool.name}" failed: ${redacted(describeError(tool, error))}`,
    hint: hintOf(error),
    cause: error
  })

/** Runs a tool with what it was called with, once nothing stands before it any more. */
type Start = (tool: Tool.Any, params: unknown) => Effect.Effect<Finished, Fatality>

/** Never run: stands for an attempt that the call makes itself. */
const undecided: Effect.Effect<never> = Effect.never

/** One attempt of a call: what it runs, under which limit, and whether the limit ended it. */
interface Attempt {
  readonly start: () => Effect.Effect<unknown, unknown>
  readonly deadline: Deadline.Options<ToolTimeoutError>
  /** Not told by the error: a handler may fail with the timeout of a tool it called itself. */
  expired: ToolTimeoutError | undefined
}

const attemptOf = (
  tools: Bound,
  tool: Tool.Any,
  params: unknown,
  call: ToolCall,
  options: RunOptions | undefined,
  number: number
): Attempt => {
  const attempt: Attempt = {
    start: () =>
      HandledTool.within(tools.provide(tool.erased.handle(params, { id: call.id, attempt: number })), tool.name),
    deadline: {
      whole: timeoutOf(tool, options),
      pausable: true,
      onTimeout: (_phase, timeoutMs) => {
        attempt.expired = new ToolTimeoutError({
          toolName: tool.name,
          timeoutMs,
          message: `"${tool.name}" did not end within ${timeoutMs} ms and was stopped`
        })
        return attempt.expired
      }
    },
    expired: undefined
  }
  return attempt
}

const attemptsOf = (tool: Tool.Any, options: RunOptions | undefined): number =>
  Math.max(
    1,
    tool.annotations.retries === undefined
      ? (options?.maxAttempts ?? defaults.maxAttempts)
      : tool.annotations.retries + 1
  )

/** What an attempt that failed comes to: another one, a failure the model reads, or the end of the run. */
const failedAttempt = (
  tools: Bound,
  tool: Tool.Any,
  params: unknown,
  call: ToolCall,
  options: RunOptions | undefined,
  progress: Progress,
  cause: Cause.Cause<unknown>,
  expired: ToolTimeoutError | undefined
): Effect.Effect<Finished, Fatality> => {
  const { annotations, erased } = tool
  const number = progress.attempts
  const defects = Cause.keepDefects(cause)
  if (Option.isSome(defects)) return Effect.failCause(defects.value)
  const failure = Cause.failureOption(cause)
  if (Option.isNone(failure)) {
    // Reached only when the handler interrupted itself: a run that is interrupted never gets here. One that was put to
    // sleep by what it does inside has no outcome yet.
    return Effect.flatMap(Step.Step, (step) =>
      step.isSuspended()
        ? Effect.failCause(Cause.stripFailures(cause))
        : Effect.succeed(
            refused(new ToolExecutionError({ toolName: tool.name, message: `"${tool.name}" was interrupted` }), number)
          )
    )
  }
  const error = failure.value
  const again = expired !== undefined ? annotations.idempotent === true : erased.isRetryable(error)
  if (again && number < attemptsOf(tool, options)) {
    return Effect.zipRight(
      Effect.sleep(backoff(number)),
      Effect.suspend(() => attempt(tools, tool, params, call, options, progress, number + 1))
    )
  }
  if (expired !== undefined) return Effect.succeed(refused(expired, number))
  if (erased.isFatal(error)) {
    return Effect.fail(new Fatality({ error, toolName: tool.name, encoded: erased.encodeFailure(error) }))
  }
  return Effect.succeed(refused(executionError(tool, error), number))
}

const attempt = (
  tools: Bound,
  tool: Tool.Any,
  params: unknown,
  call: ToolCall,
  options: RunOptions | undefined,
  progress: Progress,
  number: number = 1
): Effect.Effect<Finished, Fatality> => {
  progress.attempts = number
  const made = attemptOf(tools, tool, params, call, options, number)
  return Effect.matchCauseEffect(Deadline.run(made.start, made.deadline), {
    onSuccess: (value) => Effect.succeed({ value, error: undefined, attempts: number }),
    onFailure: (cause) => failedAttempt(tools, tool, params, call, options, progress, cause, made.expired)
  })
}

const approve = (
  gate: ApprovalGate.Service,
  run: Run.Service,
  tool: Tool.Any,
  call: ToolCall,
  decoded: unknown,
  progress: Progress
): Effect.Effect<ApprovalGate.ApprovalDecision> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const from = clock.unsafeCurrentTimeMillis()
    const id = yield* IdGenerator.generate
    // Not the model's own text: what is shown is what runs.
    const params = tool.erased.encodeParams(decoded) ?? ToolArguments.normalise(call.params, tool.parameters)
    const { sessionId, userId } = yield* ApprovalGate.Requester
    const asked = ApprovalGate.ask(gate, {
      id,
      runId: run.runId,
      rootRunId: run.rootRunId,
      ...(userId === undefined ? {} : { userId }),
      ...(sessionId === undefined ? {} : { sessionId }),
      agent: run.agent,
      toolCallId: call.id,
      tool: tool.name,
      params
    })
    const secret = SecretParams.of(tool)
    const wait = run.unsafeEmit({
      _tag: "ApprovalRequested",
      id,
      toolCallId: call.id,
      name: tool.name,
      params,
      ...(secret === undefined ? {} : { secret })
    })
    // Asked while the event is on its way: whoever reads it may answer at once.
    const decision = yield* wait === undefined
      ? asked
      : Effect.acquireUseRelease(
          Effect.fork(Effect.interruptible(wait)),
          (told) => Effect.zipLeft(asked, Fiber.join(told)),
          Fiber.interrupt
        )
    yield* run.emit({
      _tag: "ApprovalResolved",
      id,
      toolCallId: call.id,
      approved: decision._tag === "Approved",
      ...(decision._tag === "Denied" && decision.reason !== undefined ? { reason: decision.reason } : {})
    })
    progress.waited += clock.unsafeCurrentTimeMillis() - from
    return decision
  })

const denied = (tool: Tool.Any, reason: string | undefined): ToolApprovalDeniedError =>
  new ToolApprovalDeniedError({
    toolName: tool.name,
    reason,
    message: `"${tool.name}" was not allowed${reason === undefined ? "" : `: ${reason}`}`,
    hint: "Do not call it again with the same arguments; find another way or tell the user"
  })

const isVisible = (
  graph: ModuleGraph.Service,
  caller: string | undefined,
  owner: string | undefined
): Effect.Effect<boolean> =>
  owner === undefined
    ? Effect.succeed(true)
    : Effect.match(graph.isVisible({ caller, owner }), { onFailure: () => false, onSuccess: (seen) => seen === true })

/** Why the agent may not see the tool, if so. A look-up that fails hides it. */
const hidden = (
  graph: ModuleGraph.Service,
  tool: Tool.Any,
  owner: string
): Effect.Effect<ToolAccessDeniedError | undefined> =>
  Effect.flatMap(CallerModule, (caller) =>
    Effect.map(isVisible(graph, caller, owner), (seen) =>
      seen
        ? undefined
        : new ToolAccessDeniedError({
            toolName: tool.name,
            agentModule: caller,
            toolModule: owner,
            message: `"${tool.name}" is not available to this agent`
          })
    )
  )

const onlyVisible = (graph: ModuleGraph.Service, tools: Bound): Effect.Effect<Bound> => {
  const owners = new Set<string>()
  for (const tool of tools.tools) if (tool.annotations.owner !== undefined) owners.add(tool.annotations.owner)
  if (owners.size === 0) return Effect.succeed(tools)
  return Effect.flatMap(CallerModule, (caller) =>
    Effect.map(
      Effect.filter(owners, (owner) => isVisible(graph, caller, owner), { negate: true }),
      (denied) => {
        if (denied.length === 0) return tools
        const isSeen = (tool: Tool.Any) =>
          tool.annotations.owner === undefined || !denied.includes(tool.annotations.owner)
        const seen = tools.tools.filter(isSeen)
        const names = new Set(seen.map((tool) => tools.names.toProvider(tool.name)))
        return {
          ...tools,
          tools: seen,
          definitions: tools.definitions.filter((definition) => names.has(definition.name))
        }
      }
    )
  )
}

const failed = (call: ToolCall, name: string, finished: Finished, error: ToolError, maxChars: number): Outcome => {
  const { text, truncated } = truncate(failureText(error), maxChars)
  return {
    id: call.id,
    name,
    isFailure: true,
    result: text,
    observation: text,
    truncated,
    attempts: finished.attempts,
    ...(finished.approved === true ? { approved: true } : {}),
    error: errorInfo(error)
  }
}

const succeeded = (tool: Tool.Any, call: ToolCall, finished: Finished, encoded: unknown, maxChars: number): Outcome => {
  const observed = Observation.make(encoded, maxChars)
  if (observed === undefined) {
    return failed(call, tool.name, finished, executionError(tool, "its result has no JSON form"), maxChars)
  }
  return {
    id: call.id,
    name: tool.name,
    isFailure: false,
    result: observed.result,
    observation: observed.text,
    truncated: observed.truncated,
    attempts: finished.attempts,
    ...(finished.approved === true ? { approved: true } : {})
  }
}

const describe = (
  tools: Bound,
  tool: Tool.Any | undefined,
  call: ToolCall,
  finished: Finished,
  maxChars: number
): Effect.Effect<Outcome> => {
  if (tool === undefined || finished.error !== undefined) {
    const name = tool?.name ?? call.name.slice(0, 128)
    return Effect.succeed(failed(call, name, finished, finished.error as ToolError, maxChars))
  }
  const encoded = tool.erased.encode(finished.value)
  if (Either.isEither(encoded) && Either.isRight(encoded)) {
    return Effect.succeed(succeeded(tool, call, finished, encoded.right, maxChars))
  }
  return Effect.match(tools.provide(encoded), {
    onFailure: (issue) =>
      failed(call, tool.name, finished, executionError(tool, `its result does not fit its schema: ${issue}`), maxChars),
    onSuccess: (value) => succeeded(tool, call, finished, value, maxChars)
  })
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: {
  readonly timeout?: Duration.DurationInput | undefined
  readonly maxAttempts?: number | undefined
  readonly maxResultChars?: number | undefined
}): Effect.Effect<Service, never, ApprovalGate.ApprovalGate | ModuleGraph.ModuleGraph> =>
  Effect.gen(function* () {
    const gate = yield* ApprovalGate.ApprovalGate
    const graph = yield* ModuleGraph.ModuleGraph

    const approved = (
      tools: Bound,
      call: ToolCall,
      run: Run.Service,
      progress: Progress,
      tool: Tool.Any,
      start: Start
    ) =>
      decoded(tools, tool, call.params, (params) => {
        if (!tool.erased.requiresApproval(params)) return start(tool, params)
        return Effect.flatMap(approve(gate, run, tool, call, params, progress), (decision) => {
          if (decision._tag === "Denied") return Effect.succeed(refused(denied(tool, decision.reason)))
          return Effect.map(
            decision.params === undefined
              ? start(tool, params)
              : decoded(tools, tool, decision.params, (edited) => start(tool, edited)),
            (finished): Finished => ({ ...finished, approved: true })
          )
        })
      })

    const settle = (
      tools: Bound,
      call: ToolCall,
      run: Run.Service,
      progress: Progress,
      start: Start
    ): Effect.Effect<Finished, Fatality> => {
      const tool = tools.get(call.name)
      if (tool === undefined) {
        return Effect.map(onlyVisible(graph, tools), (seen) => refused(notFound(call.name, seen)))
      }
      const owner = tool.annotations.owner
      if (owner === undefined) return approved(tools, call, run, progress, tool, start)
      return Effect.flatMap(hidden(graph, tool, owner), (denial) =>
        denial === undefined ? approved(tools, call, run, progress, tool, start) : Effect.succeed(refused(denial))
      )
    }

    const execute = (
      tools: Bound,
      call: ToolCall,
      run: Run.Service,
      runOptions: RunOptions,
      progress: Progress
    ): Effect.Effect<Outcome, Fatality> =>
      Effect.flatMap(
        settle(tools, call, run, progress, (tool, params) => attempt(tools, tool, params, call, runOptions, progress)),
        (finished) =>
          describe(tools, tools.get(call.name), call, finished, runOptions.maxResultChars ?? defaults.maxResultChars)
      )

    const intercepted = (
      interceptors: ReadonlyArray<ToolInterceptor>,
      tools: Bound,
      call: ToolCall,
      run: Run.Service,
      runOptions: RunOptions,
      progress: Progress
    ): Effect.Effect<Outcome, Fatality> => {
      let next = (call: ToolCall) => execute(tools, call, run, runOptions, progress)
      for (let i = interceptors.length - 1; i >= 0; i--) {
        const inner = next
        const interceptor = interceptors[i] as ToolInterceptor
        next = (call) => interceptor(call, inner)
      }
      return next(call)
    }

    return {
      visible: (tools) => onlyVisible(graph, tools),
      run: (tools, call, runOptions) =>
        Spanned.call<unknown, unknown, Outcome, Fatality, never>((fiber) => {
          const context = fiber.currentContext as Context.Context<any>
          const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
          const run = Context.get(context, Run.Run)
          const recorder = Context.get(context, Step.Step)
          const interceptors = Context.get(context, ToolInterceptors)
          const step = runOptions?.step ?? 0
          const tool = tools.get(call.name)
          const known = tool?.name
          const name = known ?? call.name.slice(0, 128)
          const maxChars = runOptions?.maxResultChars ?? options?.maxResultChars ?? defaults.maxResultChars
          const merged: RunOptions = {
            step,
            timeout: runOptions?.timeout ?? options?.timeout,
            maxAttempts: runOptions?.maxAttempts ?? options?.maxAttempts,
            maxResultChars: maxChars
          }
          const startedAt = clock.unsafeCurrentTimeMillis()
          const progress: Progress = { attempts: 0, waited: 0 }
          let open = false
          const close = (outcome: Outcome): Effect.Effect<void> | undefined => {
            open = false
            const durationMs = clock.unsafeCurrentTimeMillis() - startedAt - progress.waited
            run.metrics?.tool(known ?? "unknown").record({ durationMs, isFailure: outcome.isFailure })
            return run.unsafeEmit({
              _tag: "ToolResult",
              step,
              id: call.id,
              name,
              isFailure: outcome.isFailure,
              result: outcome.result,
              observation: outcome.observation,
              truncated: outcome.truncated,
              durationMs,
              attempts: outcome.attempts,
              error: outcome.error
            })
          }
          const answer = (outcome: Outcome): Effect.Effect<Outcome> => {
            const wait = close(outcome)
            return wait === undefined ? Exit.succeed(outcome) : Effect.as(wait, outcome)
          }
          const outcomeOf = (finished: Finished) => describe(tools, tool, call, finished, maxChars)
          const recorded = Step.isRecording(recorder)
          // What nobody stands before, not even a wait, is the handler and nothing else: it runs in the region of the
          // call itself.
          let direct: { readonly tool: Tool.Any; readonly params: unknown; readonly attempt: Attempt } | undefined
          let begun = false
          const start: Start = (tool, params) => {
            if (begun) return attempt(tools, tool, params, call, merged, progress)
            progress.attempts = 1
            direct = { tool, params, attempt: attemptOf(tools, tool, params, call, merged, 1) }
            return undecided
          }
          const begin = () => {
            open = true
            const secret = tool === undefined ? undefined : SecretParams.of(tool)
            const wait = run.unsafeEmit(
              secret === undefined
                ? { _tag: "ToolCall", step, id: call.id, name, params: call.params }
                : { _tag: "ToolCall", step, id: call.id, name, params: call.params, secret }
            )
            const refusal = runOptions?.refuse
            if (refusal !== undefined) {
              const told = Effect.suspend(() => outcomeOf(refused(refusal)))
              return { effect: wait === undefined ? told : Effect.zipRight(wait, told), deadline: undefined }
            }
            if (wait === undefined && interceptors.length === 0 && !recorded) {
              const finished = settle(tools, call, run, progress, start)
              begun = true
              return direct === undefined
                ? { effect: Effect.flatMap(finished, outcomeOf), deadline: undefined }
                : { effect: direct.attempt.start(), deadline: direct.attempt.deadline }
            }
            begun = true
            const work = intercepted(interceptors, tools, call, run, merged, progress)
            const whole = recorded
              ? recorder.run({ kind: "tool", hash: () => jsonOf([name, call.params]), success: Outcome }, work)
              : work
            return { effect: wait === undefined ? whole : Effect.zipRight(wait, whole), deadline: undefined }
          }
          const conclude = (
            exit: Exit.Exit<any, any>,
            isInterrupted: () => boolean
          ): Effect.Effect<Outcome, Fatality> => {
            if (direct === undefined) {
              if (Exit.isFailure(exit)) return exit
              // An interceptor may answer for another call: the transcript needs the answer to this one.
              return answer(exit.value.id === call.id ? exit.value : { ...exit.value, id: call.id })
            }
            if (Exit.isSuccess(exit)) {
              const outcome = outcomeOf({ value: exit.value, error: undefined, attempts: 1 })
              return Exit.isExit(outcome) && Exit.isSuccess(outcome)
                ? answer(outcome.value as Outcome)
                : Effect.flatMap(outcome, answer)
            }
            // A run that is interrupted tries nothing again.
            if (isInterrupted()) return Exit.failCause(Cause.stripFailures(exit.cause))
            const { attempt, params, tool } = direct
            return Effect.flatMap(
              Effect.suspend(() =>
                failedAttempt(tools, tool, params, call, merged, progress, exit.cause, attempt.expired)
              ),
              (finished) => Effect.flatMap(outcomeOf(finished), answer)
            )
          }
          const { content, tracing } = run.telemetry
          const redactor = content ? Context.get(context, Telemetry.ContentRedactor) : undefined
          const onExit = (exit: Exit.Exit<Outcome, Fatality>, span: Tracer.Span | undefined): void => {
            if (Exit.isSuccess(exit)) {
              if (span !== undefined && (content || exit.value.isFailure)) annotate(span, exit.value, redactor)
            } else if (!recorder.isSuspended()) {
              span?.attribute(Telemetry.attribute.errorType, Telemetry.errorType(exit.cause))
              if (open) close(cutOff(call, name, exit.cause, progress.attempts))
            }
          }
          const attributes = Telemetry.tool({ agent: run.agent, tool: name, callId: call.id })
          if (tool !== undefined) attributes[Telemetry.attribute.genAiToolDescription] = tool.description
          if (redactor !== undefined) {
            const shown = Telemetry.content(redactor, jsonOf(call.params))
            attributes[Telemetry.attribute.genAiToolArguments] = truncate(shown, maxChars).text
          }
          const span = { name: `${Telemetry.SPAN_AGENT_TOOL}.${known ?? "unknown"}`, attributes }
          return { span: tracing ? span : undefined, begin, settle: conclude, onExit }
        })
    }
  })

const annotate = (span: Tracer.Span, outcome: Outcome, redactor: Telemetry.Redactor | undefined): void => {
  if (outcome.isFailure) span.attribute(Telemetry.attribute.errorType, outcome.error?.tag ?? "ToolError")
  if (redactor === undefined) return
  span.attribute(Telemetry.attribute.genAiToolResult, Telemetry.content(redactor, outcome.observation))
}

/** What the events say of a call that ended with its run: by a fatal failure, a defect or an interruption. */
const cutOff = (call: ToolCall, name: string, cause: Cause.Cause<Fatality>, attempts: number): Outcome => {
  const failure = Cause.failureOption(cause)
  const error = Option.isSome(failure)
    ? fatalInfo(failure.value.error)
    : Cause.isInterruptedOnly(cause)
      ? { tag: "InterruptedError", message: `"${name}" was interrupted with its run` }
      : { tag: "Defect", message: `"${name}" crashed` }
  const observation = `Error: ${error.message}`
  return {
    id: call.id,
    name,
    isFailure: true,
    result: observation,
    observation,
    truncated: false,
    attempts,
    error
  }
}

const fatalInfo = (error: unknown): ErrorInfo => {
  const info = errorInfo(error)
  return {
    ...info,
    message: redacted(info.message),
    ...(info.hint === undefined ? {} : { hint: redacted(info.hint) })
  }
}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: {
  /** Time for one attempt; default 30 s. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Attempts in all; default 3. */
  readonly maxAttempts?: number | undefined
  /** Characters of a result that reach the model; default 10,000. */
  readonly maxResultChars?: number | undefined
}): Layer.Layer<ToolRunner, never, ApprovalGate.ApprovalGate | ModuleGraph.ModuleGraph> =>
  Layer.effect(ToolRunner, make(options))
