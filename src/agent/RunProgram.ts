/**
 * The innermost part of a run: the strategy with the interceptors of its model and tool calls.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import type { Message } from "../llm/model/LlmClient.js"
import * as RecalledCalls from "../llm/model/RecalledCalls.js"
import * as Hooks from "../observability/Hooks.js"
import * as ModelCall from "../strategy/definition/ModelCall.js"
import { type Answer, openingMessages, type Strategy, type Task } from "../strategy/definition/Strategy.js"
import * as ToolProgress from "../tool/ToolProgress.js"
import * as ToolRunner from "../tool/ToolRunner.js"
import * as HandoffRoute from "./conversation/HandoffRoute.js"
import { noControl } from "./definition/AgentDefinition.js"
import { governanceOf, isResolved } from "./definition/RunIdentity.js"
import type { State } from "./definition/Stage.js"
import * as RunPreparation from "./RunPreparation.js"
import * as GuardChecks from "./stage/GuardChecks.js"
import * as RunInterceptors from "./stage/RunInterceptors.js"
import * as SteeredCalls from "./stage/SteeredCalls.js"
import type { Control } from "./stage/StepControl.js"

const taskOf = (state: State, tools: Task["tools"], control: Control | undefined): Task => {
  const { agent, uses } = state
  const { definition } = agent
  const { limits } = definition
  return {
    input: state.input,
    system: state.system,
    history: RecalledCalls.isIn(state.history)
      ? RecalledCalls.renameCalls(state.history, (name) => {
          const tool = tools.get(name)
          return tool === undefined ? undefined : tools.names.toProvider(tool.name)
        })
      : state.history,
    tools,
    settings: state.settings,
    role: definition.role,
    output: definition.output?.spec,
    preparation: control?.preparation,
    debugNodeUpdates: definition.debugNodeUpdates,
    limits: {
      maxIterations: limits.maxIterations ?? uses.config.maxIterations,
      llmTimeout: limits.llmTimeout ?? uses.config.llmTimeout,
      toolTimeout: limits.toolTimeout ?? uses.config.toolTimeout,
      toolMaxAttempts: uses.config.toolMaxRetries,
      observationMaxChars: uses.config.observationMaxChars,
      toolConcurrency: uses.config.toolConcurrency,
      maxCallsPerTurn: limits.maxCallsPerTurn ?? uses.config.maxCallsPerTurn
    }
  }
}

const structuring = OnDemand.make(() =>
  Promise.all([import("../strategy/reasoning/ModelBinding.js"), import("../strategy/reasoning/StructuredOutput.js")])
)

/** Asks the model for the output when a strategy ended without one, for example at a limit. */
const withOutput = (
  state: State,
  strategy: Strategy<unknown, unknown>,
  task: Task
): Effect.Effect<Answer, unknown, any> => {
  const { output } = task
  if (output === undefined) return strategy.program(task)
  return Effect.flatMap(strategy.program(task), (answer) => {
    if (answer.output !== undefined) return Effect.succeed(answer)
    return Effect.flatMap(structuring, ([{ bind }, { make }]) =>
      Effect.flatMap(bind(task), (model) =>
        make(model, answer.reason === "completed" ? output : { ...output, retries: 0 }, {
          strategyName: strategy.name,
          step: state.progress().steps.length,
          messages: openingMessages(task),
          text: answer.text
        })
      )
    ).pipe(Effect.map((shaped): Answer => ({ ...answer, ...shaped })))
  })
}

/** A conversation as other agents get it. Tools of earlier turns have different names and formats for each agent. */
type Turned = Pick<State, "history" | "input">

/** The run as seen by the agent that the conversation is handed to. */
const turned = (state: State, { history, input }: Turned): State =>
  input === state.input && history === state.history ? state : { ...state, history, input }

const handoffs = OnDemand.make(() => import("./conversation/Handoffs.js"))

/** Reasons; an agent that asks other agents gives them the conversation, and it may be handed to one of them. */
const reasoned = (state: State, program: Effect.Effect<Answer, unknown, any>): Effect.Effect<Answer, unknown, any> =>
  HandoffRoute.isLinked(state.tools.tools, state.agent.definition.strategy)
    ? Effect.flatMap(handoffs, ({ withHandoffs }) => withHandoffs(state, program))
    : program

/** Messages that arrive after the last model call are answered before the run ends. */
const conversed = (
  state: State,
  answered: (task: Task) => Effect.Effect<Answer, unknown, any>,
  task: Task,
  put: Array<SteeredCalls.Put>,
  given: Turned = state
): Effect.Effect<Answer, unknown, any> =>
  Effect.flatMap(reasoned(turned(state, given), answered(task)), (answer) =>
    Effect.flatMap(SteeredCalls.late(state), (messages) => {
      const input = messages.at(-1)
      if (input === undefined) return Effect.succeed(answer)
      const said: ReadonlyArray<Message> = [
        { role: "user", content: task.input },
        ...put.splice(0).map(({ message }) => message),
        ...(answer.text === "" ? [] : [{ role: "assistant" as const, content: answer.text }]),
        ...messages.slice(0, -1).map((content): Message => ({ role: "user", content }))
      ]
      const next = { ...task, history: [...task.history, ...said], input }
      return conversed(state, answered, next, put, { history: [...given.history, ...said], input })
    })
  )

const filters = OnDemand.make(() => import("./AnswerFilter.js"))

const filtered = (
  state: State,
  { name }: Strategy<unknown, unknown>,
  program: Effect.Effect<Answer, unknown, any>
): Effect.Effect<Answer, unknown, any> =>
  state.run.hooks === Hooks.noop
    ? program
    : Effect.flatMap(filters, ({ apply }) => Effect.flatMap(program, (answer) => apply(state, name, answer)))

/** Adds the interceptors of the run inside those that exist. */
const surrounded = (
  state: State,
  program: Effect.Effect<Answer, unknown, any>,
  put: Array<SteeredCalls.Put>,
  control: Control | undefined
): Effect.Effect<Answer, unknown, any> => {
  const { agent, run, uses } = state
  const { limits, module } = agent.definition
  const { maxToolCalls } = limits
  const governance = governanceOf(state)
  const steered = uses.steering.enabled
  const judgesResults = GuardChecks.isGuarded(state, "toolOutput")
  const guardsTools = judgesResults || GuardChecks.isGuarded(state, "toolInput")
  const hooked = run.hooks !== Hooks.noop
  const told = governance.enabled !== false || uses.bus.enabled
  const keepsFiles = state.notes.session !== undefined && uses.sessions.keepsFiles
  const isPlain = !steered && maxToolCalls === undefined && !guardsTools && !hooked && !told && !keepsFiles
  if (isPlain && control === undefined) {
    return module === undefined ? program : Effect.provideService(program, ToolRunner.CallerModule, module)
  }
  return Effect.mapInputContext(program, (current: Context.Context<any>) => {
    const conversed = steered
      ? Context.add(current, ModelCall.ConversationInterceptors, [
          ...Context.get(current, ModelCall.ConversationInterceptors),
          SteeredCalls.make(state, put)
        ])
      : current
    const quiet = judgesResults ? Context.add(conversed, ToolProgress.OnlyNumbers, true) : conversed
    const context = Context.add(quiet, ToolRunner.ToolInterceptors, [
      ...Context.get(current, ToolRunner.ToolInterceptors),
      ...(control?.watchCalls ?? []),
      ...(told ? [RunInterceptors.toolEvents(state, governance)] : []),
      ...(hooked ? [RunInterceptors.toolParamsFilter(state)] : []),
      ...(maxToolCalls === undefined ? [] : [RunInterceptors.toolLimits(state, maxToolCalls)]),
      ...(control?.repairs ?? []),
      ...(keepsFiles ? [RunInterceptors.toolFiles(state)] : []),
      ...(guardsTools ? [RunInterceptors.toolGuards(state)] : []),
      ...(hooked ? [RunInterceptors.toolHooks(state)] : [])
    ])
    return module === undefined ? context : Context.add(context, ToolRunner.CallerModule, module)
  })
}

const controls = OnDemand.make(() => import("./stage/StepControl.js"))

const contents = OnDemand.make(() => import("./stage/ContentCalls.js"))

/** Gives the files of the run to its model calls. */
const withFiles = (state: State, program: Effect.Effect<Answer, unknown, any>): Effect.Effect<Answer, unknown, any> => {
  const files = state.files.filter(isResolved)
  return files.length === 0
    ? program
    : Effect.flatMap(contents, ({ RunFiles, make }) =>
        Effect.mapInputContext(program, (current: Context.Context<any>) =>
          current.pipe(
            Context.add(RunFiles, { runId: state.run.runId, files }),
            Context.add(ModelCall.ConversationInterceptors, [
              ...Context.get(current, ModelCall.ConversationInterceptors),
              make(state, files, RunPreparation.namesOf(state.files))
            ])
          )
        )
      )
}

const start = (
  state: State,
  given: Strategy<unknown, unknown>,
  control: Control | undefined
): Effect.Effect<Answer, unknown, any> => {
  const put: Array<SteeredCalls.Put> = []
  const strategy = control === undefined ? given : control.stoppable(given)
  const reason = (task: Task) => withOutput(state, strategy, task)
  const answered = control === undefined ? reason : (task: Task) => control.validated(strategy.name, task, reason)
  const owned = state.tools.tools.some((tool) => tool.annotations.owner !== undefined)
  const program = owned
    ? Effect.flatMap(state.uses.runner.visible(state.tools), (tools) =>
        // Agents that the caller may not see cannot take the conversation.
        conversed({ ...state, tools }, answered, taskOf(state, tools, control), put)
      )
    : conversed(state, answered, taskOf(state, state.tools, control), put)
  return withFiles(state, surrounded(state, filtered(state, strategy, program), put, control))
}

/** Runs the strategy on the task of the state. */
export const make = (state: State, strategy: Strategy<unknown, unknown>): Effect.Effect<Answer, unknown, any> =>
  state.agent.definition.control === noControl
    ? start(state, strategy, undefined)
    : Effect.flatMap(controls, ({ open }) =>
        Effect.flatMap(open(state), (control) => start(control.state, strategy, control))
      )
