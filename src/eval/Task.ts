/**
 * Tasks: what an experiment runs with the input of each case.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../agent/AgentExecutor.js"
import type { Agent } from "../agent/definition/Agent.js"
import * as AgentResponse from "../domain/AgentResponse.js"
import type * as Usage from "../domain/Usage.js"

/**
 * What a task took. Absent is what is not known.
 *
 * @since 0.1.0
 * @category models
 */
export interface Taken {
  readonly usage?: Usage.Usage | undefined
  readonly costUsd?: number | undefined
  readonly modelCalls?: number | undefined
  /** The run, if the task was an agent. */
  readonly response?: AgentResponse.AgentResponse<unknown> | undefined
}

/**
 * An output.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answered<out Output> extends Taken {
  readonly _tag: "Answered"
  readonly output: Output
}

/**
 * The task failed. `cause` is why.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failed extends Taken {
  readonly _tag: "Failed"
  readonly cause: Cause.Cause<unknown>
}

/**
 * @since 0.1.0
 * @category models
 */
export type Outcome<Output> = Answered<Output> | Failed

/**
 * A task by its name, which is that of its variant in an experiment. `version` is part of what an experiment is: change
 * it where the same name does something else.
 *
 * @since 0.1.0
 * @category models
 */
export interface Task<in Input = any, out Output = unknown, out R = never> {
  readonly name: string
  readonly version: string
  readonly run: (input: Input) => Effect.Effect<Outcome<Output>, never, R>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default empty. */
  readonly version?: string | undefined
}

/**
 * A task of an effect. Its failures and defects are failures of the trial.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Task } from "effect-lexigram/eval"
 *
 * const shout = Task.make("shout", (input: string) => Effect.succeed(input.toUpperCase()))
 * ```
 */
export const make = <Input, Output, E, R>(
  name: string,
  run: (input: Input) => Effect.Effect<Output, E, R>,
  { version = "" }: Options = {}
): Task<Input, Output, R> => ({
  name,
  version,
  run: (input) =>
    outcomeOf(
      Effect.suspend(() => run(input)),
      (exit) =>
        Exit.isSuccess(exit) ? { _tag: "Answered", output: exit.value } : { _tag: "Failed", cause: exit.cause }
    )
})

/** An interruption is none of the task's ends. */
const outcomeOf = <A, E, R, Output>(
  effect: Effect.Effect<A, E, R>,
  toOutcome: (exit: Exit.Exit<A, E>) => Outcome<Output>
): Effect.Effect<Outcome<Output>, never, R> =>
  Effect.flatMap(Effect.exit(effect), (exit) =>
    Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause) ? Effect.interrupt : Effect.succeed(toOutcome(exit))
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface AgentOptions<in Input> extends Options {
  /** Default: the name of the agent. */
  readonly name?: string | undefined
  /** The request of the run for an input. Default: the input, which is a text or a request then. */
  readonly request?: ((input: Input) => string | AgentExecutor.AgentRequest) | undefined
}

/**
 * A task that runs an agent. Its output is that of the run; a run that failed has its usage and cost as well.
 *
 * @since 0.1.0
 * @category constructors
 */
export const agent = <Output, E, R, Input = string | AgentExecutor.AgentRequest>(
  self: Agent<Output, E, R>,
  { name = self.name, request, version = "" }: AgentOptions<Input> = {}
): Task<Input, Output, R | AgentExecutor.AgentExecutor> => ({
  name,
  version,
  run: (input) =>
    Effect.suspend(() => {
      const fold = AgentResponse.fold()
      const requested = request === undefined ? (input as string | AgentExecutor.AgentRequest) : request(input)
      return outcomeOf(
        Stream.runForEach(AgentExecutor.stream(self, requested), (event) => Effect.sync(() => fold.push(event))),
        (exit): Outcome<Output> => {
          const response = fold.response()
          const { costUsd, modelCalls, usage } = response
          const taken = { costUsd, modelCalls, usage, response }
          return Exit.isSuccess(exit)
            ? { _tag: "Answered", output: response.output as Output, ...taken }
            : { _tag: "Failed", cause: exit.cause, ...taken }
        }
      )
    })
})

/**
 * The task by another name.
 *
 * @since 0.1.0
 * @category combinators
 */
export const named = <Input, Output, R>(self: Task<Input, Output, R>, name: string): Task<Input, Output, R> => ({
  ...self,
  name
})

/**
 * A task for each combination of the values of several axes, such as models and prompts, named by them.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Task } from "effect-lexigram/eval"
 *
 * // large short, large long, small short, small long
 * const variants = Task.matrix(
 *   { model: { large: "l", small: "s" }, prompt: { short: "Answer.", long: "Answer with care." } },
 *   ({ model, prompt }) => Task.make("", (input: string) => Effect.succeed(`${model} ${prompt} ${input}`))
 * )
 * ```
 */
export const matrix = <const Axes extends Record<string, Record<string, unknown>>, Input, Output, R>(
  axes: Axes,
  task: (values: { readonly [K in keyof Axes]: Axes[K][keyof Axes[K]] }) => Task<Input, Output, R>
): ReadonlyArray<Task<Input, Output, R>> => {
  const combined = Object.entries(axes).reduce<ReadonlyArray<Combination>>(
    (found, [axis, values]) =>
      found.flatMap((one) =>
        Object.entries(values).map(([name, value]) => ({
          names: [...one.names, name],
          values: { ...one.values, [axis]: value }
        }))
      ),
    [{ names: [], values: {} }]
  )
  return combined.map(({ names, values }) => named(task(values as never), names.join(" ")))
}

interface Combination {
  readonly names: ReadonlyArray<string>
  readonly values: Readonly<Record<string, unknown>>
}
