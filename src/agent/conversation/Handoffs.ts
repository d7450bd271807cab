/**
 * Gives tools that ask other agents the conversation, and continues with the agent that it was handed to.
 *
 * @private
 * @since 0.1.0
 */
import type { AssistantMessagePartEncoded } from "@effect/ai/Prompt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as AgentResponse from "../../domain/AgentResponse.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as JsonText from "../../internal/text/JsonText.js"
import type { Message } from "../../llm/model/LlmClient.js"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import * as Run from "../../observability/Run.js"
import * as StepModule from "../../observability/Step.js"
import type { TurnToolCall } from "../../session/turn/Session.js"
import * as ModelCall from "../../strategy/definition/ModelCall.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import { MaxIterationsExceededError, OutputValidationError } from "../../strategy/definition/StrategyError.js"
import { Fatality } from "../../tool/ToolRunner.js"
import * as Conversation from "../definition/Conversation.js"
import { isResolved } from "../definition/RunIdentity.js"
import type { State } from "../definition/Stage.js"
import { HandedTo } from "./HandedTo.js"
import { along, linksOf, noLinks, routeTo, type Station, type Target, type Way } from "./HandoffRoute.js"

/** Ends the reasoning: another agent continues. */
class HandedOver {
  readonly _tag = "HandedOver"
  readonly message = "The conversation was handed over"
}

const isHandedOver = (error: unknown): boolean =>
  error instanceof Fatality && (error.error as { readonly _tag?: unknown } | null)?._tag === "HandedOver"

/** A handoff in the last step that a limit allowed still counts. */
const isLimit = (error: unknown): boolean =>
  (error instanceof Fatality ? error.error : error) instanceof MaxIterationsExceededError

/** Each run numbers its own calls; within a conversation the ids must be unique. */
const withUniqueIds = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const seen = new Set<string>()
  let renamed = new Map<string, string>()
  return messages.map((message): Message => {
    if (message.role === "assistant" && typeof message.content !== "string") {
      renamed = new Map()
      const content = message.content.map((part): AssistantMessagePartEncoded => {
        if (part.type !== "tool-call" || part.providerExecuted === true) return part
        let id = part.id
        for (let n = 2; seen.has(id); n++) id = `${part.id}_${n}`
        seen.add(id)
        if (id === part.id) return part
        renamed.set(part.id, id)
        return { ...part, id }
      })
      return renamed.size === 0 ? message : { ...message, content }
    }
    if (message.role !== "tool" || renamed.size === 0) return message
    return { ...message, content: message.content.map((part) => ({ ...part, id: renamed.get(part.id) ?? part.id })) }
  })
}

/**
 * The steps of the run so far, after its input. Only whole steps, so that the result does not depend on which of
 * several concurrent calls ends first.
 */
const done = (state: State): ReadonlyArray<Message> => {
  const progress = state.progress()
  const steps = progress.steps.filter((step) => step.toolCalls.every((call) => call.isFailure !== undefined))
  return AgentResponse.toMessages({ ...progress, input: "", steps }, { toolName: state.tools.names.toProvider })
}

const earlier = (state: State): ReadonlyArray<Message> => state.history.filter((message) => message.role !== "system")

const conversationOf = (state: State, handoffs: number): Conversation.Service => {
  let taken: string | undefined
  return {
    runId: state.run.runId,
    agent: state.agent.name,
    input: state.input,
    userId: state.userId,
    sessionId: state.sessionId,
    messages: () => withUniqueIds([...earlier(state), { role: "user", content: state.input }, ...done(state)]),
    handoffs,
    claim: (agent) => {
      if (taken !== undefined) return taken
      taken = agent
      return undefined
    }
  }
}

/** The first call that handed the conversation over. Read from the events, which a resumed run repeats. */
const makePending = (state: State, handoffs: ReadonlyMap<string, Target>): (() => Target | undefined) => {
  let next = 0
  let found: Target | undefined
  return () => {
    const { toolCalls } = state.progress()
    while (found === undefined && next < toolCalls.length) {
      const call = toolCalls[next] as AgentResponse.ToolExecutionRecord
      if (call.isFailure === undefined) break
      if (!call.isFailure) found = handoffs.get(call.name)
      next++
    }
    return found
  }
}

const notFitting = (target: Target, text: string, issues: string): Fatality =>
  new Fatality({
    toolName: "",
    error: new OutputValidationError({
      strategyName: "handoff",
      text: text.slice(0, 2000),
      issues: issues.slice(0, 2000),
      attempts: 1,
      message: `The answer of "${target.name}" does not match the output schema of the agent that handed over: ${issues.slice(0, 500)}`,
      hint: "Give both agents the same output schema, or give the other one none"
    })
  })

/** Emits that work goes to another agent, whose run is about to begin. */
export const delegated = (
  run: Run.Service,
  toAgent: string,
  childRunId: RunId,
  message: string,
  handoff?: true | undefined
): Effect.Effect<void> =>
  Effect.suspend(() => {
    run.metrics?.delegated(toAgent)
    return run.emit({ _tag: "Delegated", toAgent, childRunId, message, ...(handoff === undefined ? {} : { handoff }) })
  })

/** Runs the other agent on the conversation; its answer is the answer. `route` ends with the other agent. */
const handOver = (
  state: State,
  { route, target }: Way,
  handoffs: number,
  calls: Array<TurnToolCall>
): Effect.Effect<Answer, unknown, any> =>
  Effect.gen(function* () {
    const { agent, run } = state
    const { history, input } = target.filter(
      { history: withUniqueIds([...earlier(state), ...done(state)]), input: state.input },
      agent.name
    )
    const runId = RunId.make(yield* IdGenerator.generate)
    yield* delegated(run, target.name, runId, input, true)
    const { output } = agent.definition
    const reached = yield* state.tools.provide(
      Effect.provideService(
        target.run(
          { history, input, files: state.files.filter(isResolved), runId, userId: state.userId },
          output,
          route.at(-2)
        ),
        HandedTo,
        { runId, handoffs, route, calls }
      )
    )
    const { reason, text } = reached
    const answer: Answer = {
      text,
      reason,
      messages: [
        { role: "user", content: state.input },
        { role: "assistant", content: text }
      ]
    }
    if (output === undefined) return answer
    const value = reached.output === undefined ? JsonText.read(text) : Either.right(reached.output.value)
    const checked = yield* Effect.mapError(
      Effect.flatMap(Either.mapLeft(value, String), output.spec.decode),
      (issues) => notFitting(target, text, issues)
    )
    return { ...answer, output: checked }
  })

/** How many of the newest turns are searched for the last answer. */
const lookedAt = 20

/** The agent of the last answer of the session; null if there is none, or if the run begins with the called agent. */
const lastAgent = (state: State): Effect.Effect<string | null, unknown> => {
  const { held, notes, startWith, userId, uses } = state
  if (notes.session === undefined || startWith === "called") return Effect.succeed(null)
  const access = userId === undefined ? {} : { userId }
  const read = uses.sessions.turns(notes.session.id, { ...access, last: lookedAt })
  return StepModule.run(
    { kind: "start", success: Schema.NullOr(Schema.String), error: StepFailure.any },
    Effect.map(SystemAccess.holding(held)(read), (turns) => {
      const agent = turns.findLast(({ role }) => role === "assistant")?.metadata["agent"]
      return typeof agent === "string" ? agent : null
    })
  )
}

/**
 * The reasoning of a run and of those that take over its conversation. A session continues with the agent that answered
 * last.
 */
export const withHandoffs = (
  state: State,
  program: Effect.Effect<Answer, unknown, any>
): Effect.Effect<Answer, unknown, any> => {
  const linked = linksOf(state.tools.tools)
  const found = linked === false ? noLinks : linked
  return Effect.withFiberRuntime((fiber) => {
    const { runId } = state.run
    const handedTo = Context.get(fiber.currentContext as Context.Context<any>, HandedTo)
    const isHanded = handedTo.runId === runId
    const handoffs = isHanded ? handedTo.handoffs : 0
    const conversation = conversationOf(state, handoffs)
    if (found.handoffs.size === 0) return Effect.provideService(program, Conversation.Conversation, conversation)
    const self: Station = { name: state.agent.name, agent: () => state.agent }
    const route = isHanded ? handedTo.route : [self]
    const calls = isHanded ? handedTo.calls : state.notes.handedCalls
    const onward = (target: Target) => handOver(state, { target, route: along(route, target) }, handoffs + 1, calls)
    const pending = makePending(state, found.handoffs)
    const interceptor: ModelCall.ModelCallInterceptor = (request, next) =>
      Effect.flatMap(Run.Run, (run) =>
        run.runId === runId && pending() !== undefined
          ? Effect.fail(new Fatality({ error: new HandedOver(), toolName: "" }))
          : next(request)
      )
    const reasoning = Effect.mapInputContext(program, (current: Context.Context<any>) =>
      current.pipe(
        Context.add(Conversation.Conversation, conversation),
        Context.add(ModelCall.ConversationInterceptors, [
          ...Context.get(current, ModelCall.ConversationInterceptors),
          interceptor
        ])
      )
    )
    const reasoned = Effect.matchEffect(reasoning, {
      onFailure: (error) => {
        const target = isHandedOver(error) || isLimit(error) ? pending() : undefined
        return target === undefined ? Effect.fail(error) : onward(target)
      },
      onSuccess: (answer) => {
        const target = pending()
        return target === undefined ? Effect.succeed(answer) : onward(target)
      }
    })
    if (isHanded || state.notes.session === undefined) return reasoned
    return Effect.flatMap(lastAgent(state), (name) => {
      const way = name === null ? undefined : routeTo(found.handoffs, self, name)
      return way === undefined ? reasoned : handOver(state, way, 0, calls)
    })
  })
}
