/**
 * Strategies made of strategies: one in the place of another that failed, many for one answer, a budget, hooks, prompts
 * and settings of its own.
 *
 * A combinator keeps the name of the strategy it wraps and, where the wrapped graph is still what runs, the graph.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import { type AgentEvent, type Body, errorInfo } from "../../domain/AgentEvent.js"
import { count } from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import type { Only } from "../../internal/Only.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as CallGate from "../../llm/model/CallGate.js"
import { CostEstimator, type ForLimit } from "../../llm/model/CostEstimator.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import { Fatality, ToolRunner } from "../../tool/ToolRunner.js"
import * as ModelCall from "./ModelCall.js"
import * as RunView from "./RunView.js"
import type { Answer, Any, Strategy, StrategyBaseError, StrategyServices, Task } from "./Strategy.js"
import * as StrategyBudget from "./StrategyBudget.js"
import { OutputValidationError, StrategyBudgetError } from "./StrategyError.js"
import * as StrategyProgram from "./StrategyProgram.js"
import { defaults } from "./ToolLoop.js"

/** The strategy with another program. What runs is still its graph. */
const derive = (
  strategy: Any,
  program: (task: Task) => Effect.Effect<Answer, any, any>,
  name: string = strategy.name
): Strategy<any, any> => ({
  ...StrategyProgram.make(name, program),
  ...(strategy.graph === undefined ? {} : { graph: strategy.graph })
})

/** The typed failure of a cause that holds nothing worse. */
const failureOf = <E>(cause: Cause.Cause<E>): Option.Option<E> =>
  Option.isSome(Cause.keepDefects(cause)) ? Option.none() : Cause.failureOption(cause)

const unwrapped = (error: unknown): unknown => (error instanceof Fatality ? error.error : error)

/**
 * Failures that another attempt may do away with: all but those of keys, quotas and configuration, which any strategy
 * would meet, and failures that were meant to end the run: of fatal tools, limits and guards. An answer that never
 * fitted its schema is worth another attempt.
 *
 * @since 0.1.0
 * @category guards
 */
export const isRecoverable = (error: unknown): boolean => {
  if (error instanceof Fatality) return error.error instanceof OutputValidationError
  switch ((error as { readonly _tag?: unknown } | null)?._tag) {
    case "LlmAuthenticationError":
    case "LlmCallRefusedError":
    case "LlmQuotaError":
    case "LlmConfigurationError":
      return false
    default:
      return true
  }
}

/**
 * The second strategy, from the same task, when the first fails. `when` says for which failures (default
 * `isRecoverable`); a defect or an interruption is never made good. A `when` that is a type guard takes what it accepts
 * out of the failures of the first.
 *
 * The events of the failed attempt stay where they are, a `Degraded` event tells of its failure, and the steps of the
 * second are numbered on. The name is `first|second`; it has no graph.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withFallback: {
  <E2, R2>(second: Strategy<E2, R2>): <E, R>(first: Strategy<E, R>) => Strategy<E2, R | R2>
  <E2, R2, E, F extends E | StrategyBaseError>(
    second: Strategy<E2, R2>,
    options: { readonly when: (error: E | StrategyBaseError) => error is F }
  ): <R>(first: Strategy<E, R>) => Strategy<E2 | Exclude<E, F>, R | R2>
  <E2, R2, E>(
    second: Strategy<E2, R2>,
    options: { readonly when: (error: E | StrategyBaseError) => boolean }
  ): <R>(first: Strategy<E, R>) => Strategy<E | E2, R | R2>
  <E, R, E2, R2>(first: Strategy<E, R>, second: Strategy<E2, R2>): Strategy<E2, R | R2>
  <E, R, E2, R2, F extends E | StrategyBaseError>(
    first: Strategy<E, R>,
    second: Strategy<E2, R2>,
    options: { readonly when: (error: E | StrategyBaseError) => error is F }
  ): Strategy<E2 | Exclude<E, F>, R | R2>
  <E, R, E2, R2>(
    first: Strategy<E, R>,
    second: Strategy<E2, R2>,
    options: { readonly when: (error: E | StrategyBaseError) => boolean }
  ): Strategy<E | E2, R | R2>
} = dual(
  (args) => StrategyProgram.isStrategy(args[1]),
  (first: Any, second: Any, options?: { readonly when: (error: any) => boolean }): Strategy<any, any> => {
    const when = options?.when ?? isRecoverable
    // Each strategy of a chain has one of its own.
    const prefix = `attempt_${first.name.split("|").length + 1}_`
    return StrategyProgram.make(`${first.name}|${second.name}`, (task) =>
      Effect.flatMap(Run.Run, (run) => {
        const numbers = RunView.makeNumbers()
        const attempt = (strategy: Any) =>
          Effect.provideService(strategy.program(task), Run.Run, RunView.mapped(run, numbers.part()))
        return Effect.catchAllCause(attempt(first), (cause) => {
          const failure = failureOf(cause)
          if (Option.isNone(failure) || !when(failure.value)) return Effect.failCause(cause)
          return Effect.zipRight(
            run.emit({ _tag: "Degraded", stage: `strategy ${first.name}`, error: errorInfo(unwrapped(failure.value)) }),
            Effect.flatMap(ToolRunner, (runner) =>
              Effect.provideService(attempt(second), ToolRunner, RunView.prefixed(runner, prefix))
            )
          )
        })
      })
    )
  }
)

/**
 * What a run of a strategy may use. Only what is given is limited.
 *
 * @since 0.1.0
 * @category models
 */
export interface BudgetOptions {
  /** Calls that answered, and those that are being answered. */
  readonly maxModelCalls?: number | undefined
  /** Input and output. */
  readonly maxTokens?: number | undefined
  /** US dollars, by the prices of `CostEstimator`. A model without a price cannot be called. */
  readonly maxCostUsd?: number | undefined
  /** Wall-clock time, tools included. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * With a limit of tokens or dollars: how long an answer may get whose request does not say so, default 4,096. So much
   * is reserved for it, and the model is told.
   */
  readonly outputTokens?: number | undefined
}

const refusedBy = (strategyName: string, refusal: StrategyBudget.Refusal): StrategyBudgetError => {
  const { limit, limitType, unpriced, used } = refusal
  const about = { strategyName, limitType, limit, used }
  return unpriced === undefined
    ? new StrategyBudgetError({
        ...about,
        message:
          limitType === "cost"
            ? `"${strategyName}" has used $${used.toFixed(6)} of its budget of $${limit}: the next model call does not fit`
            : `"${strategyName}" has used ${used} of its budget of ${limit} ${limitType}: the next model call does not fit`,
        hint: "Raise the budget, or give the work to a strategy that needs fewer calls"
      })
    : new StrategyBudgetError({
        ...about,
        message: `"${strategyName}" has a budget in dollars, and the price of ${unpriced} is not known`,
        hint: "Give its price to `CostEstimator.layerPrices`, or a budget of tokens"
      })
}

/**
 * A budget for each run of the strategy, runs of sub-agents included. Before a model call its counted input and the
 * longest answer are reserved; a call that does not fit beside others that are being answered waits for them, one that
 * does not fit alone gets a shorter answer, and where there is no room for any the run fails with
 * `StrategyBudgetError`. A call that was cut off (interrupted, out of time, broken midway) costs its input and what was
 * streamed, or what the provider said; one that was refused or never sent costs nothing.
 *
 * Input is counted by the `TokenCounter` in context, else approximately: the limit holds as well as the count does. A
 * budget in dollars requires prices.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withBudget: {
  <const B extends BudgetOptions>(
    options: Only<B, BudgetOptions>
  ): <E, R>(strategy: Strategy<E, R>) => Strategy<E | StrategyBudgetError, R | ForLimit<B, "maxCostUsd">>
  <E, R, const B extends BudgetOptions>(
    strategy: Strategy<E, R>,
    options: Only<B, BudgetOptions>
  ): Strategy<E | StrategyBudgetError, R | ForLimit<B, "maxCostUsd">>
} = dual(2, (strategy: Any, options: BudgetOptions): Strategy<any, any> => {
  const { maxCostUsd, maxModelCalls, maxTokens } = options
  const timeout = options.timeout === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(options.timeout)
  const limitsCalls = maxCostUsd !== undefined || maxModelCalls !== undefined || maxTokens !== undefined
  const counted = (task: Task): Effect.Effect<Answer, any, any> =>
    Effect.contextWithEffect((context: Context.Context<never>) => {
      const references = context as Context.Context<Run.Run | CostEstimator | ModelCall.ModelCallInterceptors>
      const budget = StrategyBudget.make(options, {
        counter: TokenCounter.inContext(context),
        estimator: Context.get(references, CostEstimator),
        fail: (refusal) => refusedBy(strategy.name, refusal)
      })
      const outer = Context.get(references, Run.Run)
      const run = Run.isCurrent(outer)
        ? RunView.watched(outer, (event) => {
            budget.see(event)
            return undefined
          })
        : outer
      return Effect.mapInputContext(strategy.program(task), (current: Context.Context<any>) =>
        current.pipe(
          Context.add(ModelCall.ModelCallInterceptors, [
            ...Context.get(references, ModelCall.ModelCallInterceptors),
            budget.interceptor
          ]),
          Context.add(
            CallGate.CallGate,
            CallGate.inside(ModelCall.sideCalls, Context.get(references, CallGate.CallGate))
          ),
          Context.add(Run.Run, run)
        )
      ).pipe(
        Effect.mapError((error) => {
          const inner = unwrapped(error)
          return budget.refused(inner) ? inner : error
        })
      )
    })
  const limited = limitsCalls ? counted : strategy.program
  return derive(strategy, (task) =>
    Number.isFinite(timeout)
      ? Deadline.run(() => limited(task), {
          whole: timeout,
          pausable: true,
          onTimeout: (_phase, limit) =>
            new StrategyBudgetError({
              strategyName: strategy.name,
              limitType: "time",
              limit,
              used: limit,
              message: `"${strategy.name}" did not end within ${limit} ms and was stopped`,
              hint: "Raise the timeout of the budget"
            })
        })
      : limited(task)
  )
})

/**
 * @since 0.1.0
 * @category models
 */
export interface SelfConsistencyOptions {
  /** How many answers are sampled; default 5. */
  readonly n?: number | undefined
  /** What makes two answers the same. Default: their output where the task has one, else `answerKey` of their text. */
  readonly key?: ((answer: Answer) => string) | undefined
  /** Of the samples; default that of the task, then 0.7. Without any randomness all samples are one. */
  readonly temperature?: number | undefined
  /** Samples at once; default that of the agent for tools, then 8. */
  readonly concurrency?: number | undefined
}

/**
 * A text without what does not matter to what it says: case, spaces, marks of emphasis, quotes around it and the full
 * stop behind it.
 *
 * @since 0.1.0
 * @category conversions
 */
export const answerKey = (text: string): string => {
  const plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\*\*|__|`/g, "")
    .replace(/\s+/g, " ")
  let from = 0
  let to = plain.length
  while (from < to && around.includes(plain.charAt(from))) from++
  while (to > from && (around.includes(plain.charAt(to - 1)) || behind.includes(plain.charAt(to - 1)))) to--
  return plain.slice(from, to)
}

const around = " \"'“”„«»"
const behind = ".!"

const keyOf = (answer: Answer): string =>
  answer.output === undefined ? answerKey(answer.text) : CanonicalJson.stringify(answer.output)

/** Shown by one answer, not by each of its samples. */
const isDelta = ({ _tag }: Body): boolean =>
  _tag === "TextDelta" || _tag === "ReasoningDelta" || _tag === "TextRetracted"

/**
 * Several answers to one task, and of them the one that most agree on (Wang et al. 2022, "Self-Consistency Improves
 * Chain of Thought Reasoning in Language Models", arXiv 2203.11171). Of equally many the one that was sampled first
 * wins; an empty answer has no vote. Samples that fail with something `isRecoverable` are told by `Degraded` and do
 * without a vote; when all do, the first failure is the run's.
 *
 * Answers are compared as wholes: let the model answer briefly or by a schema, or give a `key` that finds the answer in
 * the text. A seed in the settings counts up from sample to sample. Readers see the steps of all samples and the text
 * of the answer that won.
 *
 * @since 0.1.0
 * @category combinators
 */
export const selfConsistency: {
  (options: SelfConsistencyOptions): <E, R>(strategy: Strategy<E, R>) => Strategy<E, R>
  <E, R>(strategy: Strategy<E, R>, options: SelfConsistencyOptions): Strategy<E, R>
} = dual(2, (strategy: Any, options: SelfConsistencyOptions): Strategy<any, any> => {
  const n = count(options.n, 5, 1)
  const key = options.key ?? keyOf
  return derive(strategy, (task) =>
    Effect.gen(function* () {
      const run = yield* Run.Run
      const runner = yield* ToolRunner
      const numbers = RunView.makeNumbers()
      const temperature = options.temperature ?? task.settings.temperature ?? 0.7
      const { seed } = task.settings
      const sample = (index: number) => {
        const renumber = numbers.part()
        const view = RunView.silenced(RunView.mapped(run, (body) => (isDelta(body) ? undefined : renumber(body))))
        const settings = ModelSettings.merge(task.settings, {
          temperature,
          ...(seed === undefined ? {} : { seed: seed + index })
        })
        return strategy.program({ ...task, settings }).pipe(
          Effect.provideService(Run.Run, view),
          Effect.provideService(ToolRunner, RunView.prefixed(runner, `sample_${index + 1}_`)),
          Effect.map(Either.right),
          Effect.catchAllCause((cause) => {
            const failure = failureOf(cause)
            if (Option.isNone(failure) || !isRecoverable(failure.value)) return Effect.failCause(cause)
            return Effect.as(
              run.emit({ _tag: "Degraded", stage: `sample ${index + 1}`, error: errorInfo(unwrapped(failure.value)) }),
              Either.left(cause)
            )
          })
        )
      }
      const samples = yield* Step.forEach(
        Array.from({ length: n }, (_, index) => index),
        sample,
        { concurrency: count(options.concurrency ?? task.limits.toolConcurrency, defaults.toolConcurrency, 1) }
      )
      const tally = new Map<string, { readonly answer: Answer; votes: number }>()
      let failed = 0
      for (const one of samples) {
        if (Either.isLeft(one)) {
          failed++
          continue
        }
        const of = key(one.right)
        const same = tally.get(of)
        if (same === undefined) tally.set(of, { answer: one.right, votes: 1 })
        else same.votes++
      }
      const first = samples[0]
      if (failed === n && first !== undefined && Either.isLeft(first)) return yield* Effect.failCause(first.left)
      const empty = tally.get("")
      if (empty !== undefined && tally.size > 1) tally.delete("")
      const { answer, votes } = Array.from(tally.values()).reduce((best, one) => (one.votes > best.votes ? one : best))
      const lost = failed === 0 ? "" : `; ${failed} failed`
      yield* run.emit({
        _tag: "Thought",
        step: Math.max(1, numbers.last()),
        text: `${votes} of ${n} answers agree${lost}`
      })
      if (run.live && answer.text !== "") yield* run.emit({ _tag: "TextDelta", text: answer.text })
      return answer
    })
  )
})

/**
 * Effects around a run of a strategy. `onError` sees failures, not defects; interruption is no error.
 *
 * @since 0.1.0
 * @category models
 */
export interface Hooks<in E = never, out E2 = never, out R2 = never> {
  readonly onStart?: ((task: Task) => Effect.Effect<unknown, E2, R2>) | undefined
  readonly onFinish?: ((answer: Answer, task: Task) => Effect.Effect<unknown, E2, R2>) | undefined
  readonly onError?: ((error: E | StrategyBaseError, task: Task) => Effect.Effect<unknown, E2, R2>) | undefined
  /** Cannot be interrupted itself. */
  readonly onInterrupt?: ((task: Task) => Effect.Effect<unknown, E2, R2>) | undefined
  /**
   * What a hook that fails does: `log` (default), a warning and a `Degraded` event; or `fail`, which ends the run with
   * its failure. One that fails after the run has failed or was interrupted is always logged: the first failure stays.
   */
  readonly failures?: "log" | "fail" | undefined
}

/**
 * Runs the hooks before, after, on a failure and on an interruption of the strategy. A durable run that is put to sleep
 * has not been interrupted. Failures that are carried to the executor reach `onError` as `Fatality`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withHooks: {
  <E, E2, R2>(
    hooks: Hooks<E, E2, R2> & { readonly failures: "fail" }
  ): <R>(strategy: Strategy<E, R>) => Strategy<E | E2, R | R2>
  <E, E2, R2>(hooks: Hooks<E, E2, R2>): <R>(strategy: Strategy<E, R>) => Strategy<E, R | R2>
  <E, R, E2, R2>(
    strategy: Strategy<E, R>,
    hooks: Hooks<E, E2, R2> & { readonly failures: "fail" }
  ): Strategy<E | E2, R | R2>
  <E, R, E2, R2>(strategy: Strategy<E, R>, hooks: Hooks<E, E2, R2>): Strategy<E, R | R2>
} = dual(2, (strategy: Any, hooks: Hooks<any, any, any>): Strategy<any, any> => {
  const { onError, onFinish, onInterrupt, onStart } = hooks
  const named = (name: string) => ({ module: "Strategy.withHooks", strategy: strategy.name, hook: name })
  const logged = <A>(name: string, effect: Effect.Effect<A, any, any>, run: Run.Service) =>
    Effect.catchAll(effect, (error) =>
      Effect.zipRight(
        Effect.annotateLogs(Effect.logWarning(`a hook failed: ${errorInfo(error).message}`), named(name)),
        run.emit({ _tag: "Degraded", stage: `hook ${name}`, error: errorInfo(error) })
      )
    )
  return derive(strategy, (task) =>
    Effect.gen(function* () {
      const run = yield* Run.Run
      const step = yield* Step.Step
      const hook = (name: string, effect: Effect.Effect<unknown, any, any>) =>
        hooks.failures === "fail" ? effect : logged(name, effect, run)
      const watched = strategy.program(task).pipe(
        Effect.onInterrupt(() =>
          onInterrupt === undefined || step.isSuspended()
            ? Effect.void
            : logged(
                "onInterrupt",
                Effect.suspend(() => onInterrupt(task)),
                run
              )
        ),
        Effect.tapErrorCause((cause) => {
          const failure = failureOf(cause)
          if (onError === undefined || Option.isNone(failure)) return Effect.void
          return logged(
            "onError",
            Effect.suspend(() => onError(failure.value, task)),
            run
          )
        })
      )
      if (onStart !== undefined) {
        yield* hook(
          "onStart",
          Effect.suspend(() => onStart(task))
        )
      }
      const answer = yield* watched
      if (onFinish !== undefined) {
        yield* hook(
          "onFinish",
          Effect.suspend(() => onFinish(answer, task))
        )
      }
      return answer
    })
  )
})

/**
 * @since 0.1.0
 * @category models
 */
export interface Observer<out E2 = never, out R2 = never> {
  /**
   * A tool ended: its name, and what the model reads of its result. What was thought is a step of the action `thought`,
   * a judgement one of `critique`; the answer is the last step, of the action `final_answer`.
   */
  readonly onStep?: ((step: number, action: string, result: string) => Effect.Effect<unknown, E2, R2>) | undefined
  readonly onComplete?: ((totalSteps: number, finalResult: string) => Effect.Effect<unknown, E2, R2>) | undefined
}

/** What an observer sees of an event, if anything. */
const seenOf = (body: Body | AgentEvent): Parameters<NonNullable<Observer["onStep"]>> | undefined => {
  switch (body._tag) {
    case "ToolResult":
      return [body.step, body.name, body.observation]
    case "Thought":
      return [body.step, "thought", body.text]
    case "Critique":
      return [body.step, "critique", body.text]
    default:
      return undefined
  }
}

/**
 * Shows an observer what the strategy does, one thing after another in the order of the events, also where tools run
 * side by side: a tool counts as running until the observer has seen its result. Runs of sub-agents are seen as the
 * tool they are. An observer that fails is logged and breaks nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withObserver: {
  <E2, R2>(observer: Observer<E2, R2>): <E, R>(strategy: Strategy<E, R>) => Strategy<E, R | R2>
  <E, R, E2, R2>(strategy: Strategy<E, R>, observer: Observer<E2, R2>): Strategy<E, R | R2>
} = dual(2, (strategy: Any, { onComplete, onStep }: Observer<any, any>): Strategy<any, any> => {
  const safely = (effect: Effect.Effect<unknown, any, any>) =>
    Effect.catchAll(effect, (error) =>
      Effect.annotateLogs(Effect.logWarning(`an observer failed: ${errorInfo(error).message}`), {
        module: "Strategy.withObserver",
        strategy: strategy.name
      })
    )
  return derive(strategy, (task) =>
    Effect.gen(function* () {
      const context = yield* Effect.context<any>()
      const run = yield* Run.Run
      const one = yield* Effect.makeSemaphore(1)
      const waiting: Array<Effect.Effect<unknown, any, any>> = []
      let steps = 0
      // Whoever comes first shows all that waits: an emitter that is interrupted leaves nothing behind that nobody
      // would show.
      const show: Effect.Effect<void> = one
        .withPermits(1)(
          Effect.whileLoop({
            while: () => waiting.length > 0,
            body: () => Effect.suspend(() => safely(waiting.shift() ?? Effect.void)),
            step: () => {}
          })
        )
        .pipe(Effect.provide(context)) as Effect.Effect<void>
      const view = RunView.watched(run, (body, own) => {
        if (!own) return undefined
        if (body._tag === "StepStarted") steps++
        const seen = onStep === undefined ? undefined : seenOf(body)
        if (onStep === undefined || seen === undefined) return undefined
        waiting.push(Effect.suspend(() => onStep(...seen)))
        return show
      })
      const answer = yield* Effect.provideService(strategy.program(task), Run.Run, view)
      if (onStep !== undefined) waiting.push(Effect.suspend(() => onStep(steps, "final_answer", answer.text)))
      if (onComplete !== undefined) waiting.push(Effect.suspend(() => onComplete(steps, answer.text)))
      yield* show
      return answer
    })
  )
})

/**
 * Prompts of this strategy alone, on top of those of the run: overrides win, instructions come behind those there are.
 * Options that do not fit the steps (an unknown step, a place that a step does not have) are thrown here: they are
 * constants.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withPrompts: {
  (options: PromptLibrary.Options): <E, R>(strategy: Strategy<E, R>) => Strategy<E, R>
  <E, R>(strategy: Strategy<E, R>, options: PromptLibrary.Options): Strategy<E, R>
} = dual(2, (strategy: Any, options: PromptLibrary.Options): Strategy<any, any> => {
  Either.getOrThrowWith(PromptLibrary.make(options), (error) => error)
  const extended = new WeakMap<PromptLibrary.Service, PromptLibrary.Service>()
  const extend = (library: PromptLibrary.Service): PromptLibrary.Service => {
    let own = extended.get(library)
    if (own === undefined) {
      // Fits the steps it was made for: only a run whose library has other steps under the same names can refuse it
      // now.
      own = Either.getOrThrowWith(library.extend(options), (error) => error)
      extended.set(library, own)
    }
    return own
  }
  return derive(strategy, (task) =>
    Effect.flatMap(PromptLibrary.PromptLibrary, (library) =>
      Effect.provideService(strategy.program(task), PromptLibrary.PromptLibrary, extend(library))
    )
  )
})

/**
 * The strategy on another task.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapTask: {
  (f: (task: Task) => Task): <E, R>(strategy: Strategy<E, R>) => Strategy<E, R>
  <E, R>(strategy: Strategy<E, R>, f: (task: Task) => Task): Strategy<E, R>
} = dual(
  2,
  (strategy: Any, f: (task: Task) => Task): Strategy<any, any> =>
    derive(strategy, (task) => Effect.suspend(() => strategy.program(f(task))))
)

/**
 * The same by an Effect: what it needs to look up, it may; its failures are the strategy's.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapTaskEffect: {
  <E2, R2>(
    f: (task: Task) => Effect.Effect<Task, E2, R2>
  ): <E, R>(strategy: Strategy<E, R>) => Strategy<E | Exclude<E2, StrategyBaseError>, R | Exclude<R2, StrategyServices>>
  <E, R, E2, R2>(
    strategy: Strategy<E, R>,
    f: (task: Task) => Effect.Effect<Task, E2, R2>
  ): Strategy<E | Exclude<E2, StrategyBaseError>, R | Exclude<R2, StrategyServices>>
} = dual(
  2,
  (strategy: Any, f: (task: Task) => Effect.Effect<Task, any, any>): Strategy<any, any> =>
    derive(strategy, (task) => Effect.suspend(() => Effect.flatMap(f(task), strategy.program)))
)

/**
 * Settings of its model calls; fields given here win over those of the agent and its request.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withSettings: {
  (settings: ModelSettings.ModelSettings): <E, R>(strategy: Strategy<E, R>) => Strategy<E, R>
  <E, R>(strategy: Strategy<E, R>, settings: ModelSettings.ModelSettings): Strategy<E, R>
} = dual(
  2,
  (strategy: Any, settings: ModelSettings.ModelSettings): Strategy<any, any> =>
    mapTask(strategy, (task) => ({ ...task, settings: ModelSettings.merge(task.settings, settings) }))
)
