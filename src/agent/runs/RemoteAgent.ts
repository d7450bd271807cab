/**
 * An agent that works elsewhere: a stand-in whose runs are started by `Runs`, by the name of the agent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as AgentResponse from "../../domain/AgentResponse.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId } from "../../domain/Ids.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import * as Strategy from "../../strategy/definition/Strategy.js"
import { OutputValidationError } from "../../strategy/definition/StrategyError.js"
import * as Handoffs from "../conversation/Handoffs.js"
import * as Agent from "../definition/Agent.js"
import * as Stage from "../definition/Stage.js"
import * as RunPreparation from "../RunPreparation.js"
import type { RunError, RunFailedError } from "../record/RunError.js"
import * as Runs from "./Runs.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The name by which `Runs` knows the agent; default the name of the stand-in. */
  readonly agent?: string | undefined
  /** What it is for, in words for those who choose among agents; default none. */
  readonly description?: string | undefined
  /** Labels of its runs: at most 16, names of 1 to 64 characters, values of at most 256. Default none. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

const strategyName = "remote"

/** The state of the run in which a stand-in works. */
class Caller extends Ambient.Reference<Caller>()("effect-lexigram/agent/RemoteAgent/Caller", {
  defaultValue: (): Stage.State | undefined => undefined
}) {}

const callerBound = Stage.make("caller", (state, next) => Effect.provideService(next(state), Caller, state))

const outputOf = (
  name: string,
  { output }: Strategy.Task,
  { message: text, output: value }: AgentResponse.AgentResponse<unknown>
) =>
  output === undefined
    ? Effect.succeed({})
    : Effect.mapBoth(output.decode(value), {
        onSuccess: (output) => ({ output }),
        onFailure: (issues) =>
          new OutputValidationError({
            strategyName,
            attempts: 1,
            issues,
            text: text.slice(0, 2000),
            message: `The answer of the agent "${name}" does not fit the output that is wanted`,
            hint: "Give the agent that is started the same output schema"
          })
      })

const report = (
  run: Run.Service,
  { costUsd, usage }: Pick<AgentResponse.AgentResponse<unknown>, "costUsd" | "usage">
) => run.emit({ _tag: "UsageReported", usage, ...(costUsd === undefined ? {} : { costUsd }) })

/** Starts the run and waits for its answer. The end of the outer run ends it, the sleep of that one does not. */
const answered = (agent: string, labels: Options["labels"]) => (task: Strategy.Task) =>
  Effect.gen(function* () {
    const run = yield* Run.Run
    const runs = yield* Runs.Runs
    const step = yield* Step.Step
    const state = yield* Caller
    const runId = RunId.make(yield* IdGenerator.generate)
    const system = state?.agent.definition.system ?? ""
    const input = RunPreparation.withFiles(
      system === "" ? task.input : `${system}\n\n${task.input}`,
      state?.files ?? []
    )
    const access = { userId: state?.userId }
    yield* Handoffs.delegated(run, agent, runId, task.input)
    yield* runs.start({
      agent,
      runId,
      input,
      history: task.history,
      ...access,
      tenantId: state?.tenantId,
      classifications: state?.classifications,
      labels
    })
    const response = yield* runs.await(runId, access).pipe(
      Effect.onInterrupt(() => (step.isSuspended() ? Effect.void : Effect.ignore(runs.interrupt(runId, access)))),
      Effect.tapError((error) =>
        error._tag === "RunFailedError" && error.response !== undefined ? report(run, error.response) : Effect.void
      )
    )
    yield* report(run, response)
    return {
      text: response.message,
      reason: "completed",
      ...(yield* outputOf(agent, task, response)),
      messages: [
        { role: "user", content: task.input },
        { role: "assistant", content: response.message }
      ]
    } satisfies Strategy.Answer
  })

/**
 * The stand-in runs wherever an agent does: as a participant of a group (`AgentParticipant.make`), in a crew, as a
 * tool, after a handoff. Its run starts a run of the agent by the `Runs` in context and answers with the answer of that
 * one: in this process, in one that shares the database, or in a cluster, where each such run may go on elsewhere.
 *
 * That run belongs to the same user and tenant and has no session; the history comes with its request. Its tools, its
 * model and its approvals are those of the agent there. Its usage and cost are events of the run here, but limits here
 * do not stop it. Interrupting the run here interrupts it. The system prompt of the stand-in, such as the instructions
 * of a group, precedes its input.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { AgentParticipant, Crew, RemoteAgent } from "effect-lexigram/agent"
 * import { GroupSession } from "effect-lexigram/session"
 *
 * const writer = RemoteAgent.make("writer")
 * const critic = RemoteAgent.make("critic")
 *
 * const desk = GroupSession.make({ participants: [AgentParticipant.make(writer), AgentParticipant.make(critic)] })
 * const press = Crew.make("press", {
 *   agents: [writer, critic],
 *   tasks: [Crew.task("draft", { description: "Write a draft", agent: "writer" })]
 * })
 * ```
 */
export const make = (
  name: string,
  options: Options = {}
): Agent.Agent<string, RunError | RunFailedError | OutputValidationError, Runs.Runs> =>
  Agent.make(name, {
    description: options.description,
    strategy: Strategy.make(strategyName, answered(options.agent ?? name, options.labels)),
    stages: [Stage.inside("skills")(callerBound)]
  })
