/**
 * Agents that share tasks: in order, in parallel, or under a manager.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Stream from "effect/Stream"
import * as AgentResponse from "../../domain/AgentResponse.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { RunId } from "../../domain/Ids.js"
import type { ReaderTimeoutError } from "../../domain/ReaderTimeout.js"
import { count } from "../../internal/Count.js"
import type { ExactOptions } from "../../internal/ExactOptions.js"
import type { ForCost } from "../../llm/model/CostEstimator.js"
import * as Strategy from "../../strategy/definition/Strategy.js"
import type { OutputValidationError } from "../../strategy/definition/StrategyError.js"
import type * as Tool from "../../tool/definition/Tool.js"
import * as AgentExecutor from "../AgentExecutor.js"
import * as AgentTool from "../AgentTool.js"
import * as HandoffRoute from "../conversation/HandoffRoute.js"
import * as Agent from "../definition/Agent.js"
import type { AgentExecutionError, CrewError } from "../definition/AgentError.js"
import { type CrewDefinition, problem as problemOf } from "./CrewDefinition.js"
import type { CrewEvent, CrewResult, Process, TaskResult } from "./CrewResult.js"
import * as CrewRun from "./CrewRun.js"
import * as CrewTask from "./CrewTask.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/agent/Crew")

/**
 * A crew. An immutable value; `E` and `R` are those of its agents, its manager and the checks of its tasks.
 *
 * @since 0.1.0
 * @category models
 */
export interface Crew<out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: { readonly _E: () => E; readonly _R: () => R }
  readonly name: string
  readonly process: Process
  readonly agents: ReadonlyArray<Agent.Any>
  readonly tasks: ReadonlyArray<CrewTask.Any>
  readonly definition: CrewDefinition
  readonly limits: Limits
}

/**
 * Limits of the whole crew, summed over all its agents.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limits extends Omit<Agent.RunLimits, "maxToolCalls"> {}

/**
 * Failures of a crew, besides those of its agents and checks.
 *
 * @since 0.1.0
 * @category models
 */
export type Failure = CrewError | OutputValidationError

type TaskErrorOf<T> = T extends CrewTask.Task<infer E, unknown> ? E : never
type TaskServicesOf<T> = T extends CrewTask.Task<unknown, infer R> ? R : never

const defaultConcurrency = 4

const proto = {
  [TypeId]: { _E: () => undefined as never, _R: () => undefined as never },
  pipe() {
    // biome-ignore lint/complexity/noArguments: the form `pipeArguments` takes
    return pipeArguments(this, arguments)
  }
}

const build = (definition: CrewDefinition, limits: Limits): any => {
  const { agents, name, process, tasks } = definition
  return Object.assign(Object.create(proto), { name, process, agents, tasks, definition, limits })
}

/**
 * A task of a crew: its description, expected output, agent and context.
 *
 * @since 0.1.0
 * @category constructors
 */
export const task: typeof CrewTask.make = CrewTask.make

/**
 * A crew of agents and tasks. An invalid crew fails its run before any model call; `validate` finds the problem
 * earlier.
 *
 * - `sequential` (default): tasks in their order, one at a time.
 * - `parallel`: each task as soon as the tasks of its context are done, at most `concurrency` (default 4) at a time.
 * - `hierarchical`: the manager assigns the tasks with instructions, reviews each output and may send it back, and
 *   writes the final answer. Tasks run in their order.
 *
 * Every agent gets the request itself, its task, the expected output and the outputs of its context. The manager
 * assigns tasks that name no agent. Without a `manager`, a built-in one asks the same model.
 *
 * `failure` says what a failed task means for the others: the crew fails with the error of the task (`fail`, the
 * default), they continue and are told (`continue`), or those that need it are skipped (`skip-dependents`).
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Crew } from "effect-lexigram/agent"
 *
 * const researcher = Agent.make("researcher", { system: "You find facts." })
 * const writer = Agent.make("writer", { system: "You write." })
 *
 * const press = Crew.make("press", {
 *   agents: [researcher, writer],
 *   tasks: [
 *     Crew.task("facts", { description: "Collect the facts", agent: "researcher" }),
 *     Crew.task("article", { description: "Write it up", agent: "writer", expectedOutput: "One page" })
 *   ]
 * })
 *
 * const result = Crew.run(press, "Heat pumps")
 * ```
 */
export const make = <
  const A extends ReadonlyArray<Agent.Any>,
  const T extends ReadonlyArray<CrewTask.Any>,
  M extends Agent.Any = never,
  const L extends Limits = {}
>(
  name: string,
  options: {
    readonly agents: A
    readonly tasks: T
    readonly process?: Process | undefined
    readonly manager?: M | undefined
    readonly failure?: "fail" | "continue" | "skip-dependents" | undefined
    readonly concurrency?: number | undefined
    /** A limit in dollars requires prices. */
    readonly limits?: ExactOptions<L, Limits> | undefined
  }
): Crew<
  Agent.ErrorOf<A[number]> | Agent.ErrorOf<M> | TaskErrorOf<T[number]>,
  Agent.ServicesOf<A[number]> | Agent.ServicesOf<M> | TaskServicesOf<T[number]> | ForCost<L>
> =>
  build(
    {
      name,
      agents: options.agents,
      tasks: options.tasks,
      process: options.process ?? "sequential",
      manager: options.manager,
      failure: options.failure ?? "fail",
      concurrency: count(options.concurrency, defaultConcurrency, 1)
    },
    options.limits ?? {}
  )

/**
 * Adds an agent; one with the same name is replaced.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withAgent =
  <O, E2, R2>(agent: Agent.Agent<O, E2, R2>) =>
  <E, R>(self: Crew<E, R>): Crew<E | E2, R | R2> => {
    const at = self.agents.findIndex((other) => other.name === agent.name)
    const agents = at < 0 ? [...self.agents, agent] : self.agents.with(at, agent)
    return build({ ...self.definition, agents }, self.limits)
  }

/**
 * Removes the agent with this name. Tasks that name it make the crew invalid.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withoutAgent =
  (name: string) =>
  <E, R>(self: Crew<E, R>): Crew<E, R> =>
    build({ ...self.definition, agents: self.agents.filter((agent) => agent.name !== name) }, self.limits)

/**
 * The agent with this name.
 *
 * @since 0.1.0
 * @category getters
 */
export const getAgent = (self: Crew<unknown, unknown>, name: string): Option.Option<Agent.Any> =>
  Option.fromNullable(self.agents.find((agent) => agent.name === name))

/**
 * The problem that would fail a run before its first model call.
 *
 * @since 0.1.0
 * @category getters
 */
export const validate = (self: Crew<unknown, unknown>): Either.Either<void, CrewError> => {
  const problem = problemOf(self.definition)
  return problem === undefined ? Either.void : Either.left(problem)
}

const agentsOf = new WeakMap<object, Agent.Any>()

/**
 * The crew as an agent whose answer is the final output: for handoffs, other crews and sessions.
 *
 * @since 0.1.0
 * @category conversions
 */
export const asAgent = <E, R>(self: Crew<E, R>): Agent.Agent<string, E | Failure, R | AgentExecutor.AgentExecutor> => {
  let agent = agentsOf.get(self)
  if (agent === undefined) {
    const strategy = Strategy.make(`crew:${self.process}`, CrewRun.program(self.definition))
    HandoffRoute.linkStrategy(strategy)
    agent = Agent.make(self.name, {
      system: `A crew of agents for: ${self.tasks.map((one) => one.description).join("; ")}`,
      strategy,
      limits: self.limits
    })
    agentsOf.set(self, agent)
  }
  return agent as Agent.Agent<string, E | Failure, R | AgentExecutor.AgentExecutor>
}

/**
 * The crew as a tool of an agent: `AgentTool` over `asAgent`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const asTool = <E, R, const L extends Agent.RunLimits = {}>(
  self: Crew<E, R>,
  options?: (AgentTool.Options & { readonly limits?: ExactOptions<L, Agent.RunLimits> | undefined }) | undefined
): Tool.Tool<
  { readonly message: string },
  unknown,
  never,
  R | ForCost<L> | AgentExecutor.AgentExecutor,
  AgentExecutionError
> => AgentTool.make<string, E | Failure, R | AgentExecutor.AgentExecutor, L>(asAgent(self), options)

interface Followed {
  readonly follower: CrewRun.Follower
  readonly queue: Array<CrewRun.Body>
  readonly result: (response: AgentResponse.AgentResponse<unknown>) => CrewResult
}

const follow = (self: Crew<unknown, unknown>, runId: RunId): Followed => {
  const queue: Array<CrewRun.Body> = []
  let ended: ReadonlyArray<TaskResult> = []
  let final: string | undefined
  return {
    queue,
    follower: {
      runId,
      push: (event) => void queue.push(event),
      done: (tasks, finalOutput) => {
        ended = tasks
        final = finalOutput
      }
    },
    result: ({ costUsd, durationMs, usage }) => ({
      crew: self.name,
      runId,
      tasks: ended,
      ...(final === undefined ? {} : { finalOutput: final }),
      usage,
      ...(costUsd === undefined ? {} : { costUsd }),
      durationMs
    })
  }
}

const requestOf = (input: string | AgentExecutor.AgentRequest) =>
  Effect.map(IdGenerator.generate, (id) => {
    const request: AgentExecutor.AgentRequest = typeof input === "string" ? { input } : input
    return { ...request, runId: request.runId ?? id }
  })

/**
 * Runs the crew on a request. The runs of its agents are inside its run and share its limits; interrupting it stops all
 * of them.
 *
 * @since 0.1.0
 * @category execution
 */
export const run = <E, R>(
  self: Crew<E, R>,
  input: string | AgentExecutor.AgentRequest
): Effect.Effect<CrewResult, E | Failure | AgentExecutor.ExecutorError, R | AgentExecutor.AgentExecutor> =>
  Effect.flatMap(requestOf(input), (request) => {
    const { follower, result } = follow(self, request.runId as RunId)
    return Effect.map(
      Effect.provideService(AgentExecutor.run(asAgent(self), request), CrewRun.Following, follower),
      result
    )
  })

/**
 * The same run as a stream of its events: those of the crew, of its own run and of its agents' runs. `CrewFinished` is
 * the last one; a crew that fails ends with the `Error` of its run, then the stream fails with the error itself.
 *
 * @since 0.1.0
 * @category execution
 */
export const stream = <E, R>(
  self: Crew<E, R>,
  input: string | AgentExecutor.AgentRequest
): Stream.Stream<
  CrewEvent,
  E | Failure | AgentExecutor.ExecutorError | ReaderTimeoutError,
  R | AgentExecutor.AgentExecutor
> =>
  Stream.unwrap(
    Effect.map(requestOf(input), (request) => {
      const { follower, queue, result } = follow(self, request.runId as RunId)
      const fold = AgentResponse.fold()
      return AgentExecutor.stream(asAgent(self), request).pipe(
        Stream.provideService(CrewRun.Following, follower),
        Stream.mapConcat((event): ReadonlyArray<CrewEvent> => {
          fold.push(event)
          if (event.runId !== follower.runId) return [event]
          if (event._tag === "Finished") return [event, { _tag: "CrewFinished", result: result(fold.response()) }]
          const [next] = event._tag === "Plan" ? queue.splice(0, 1) : []
          return next === undefined ? [event] : [event, next]
        })
      )
    })
  )
