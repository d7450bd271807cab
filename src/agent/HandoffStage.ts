/**
 * Around the reasoning of agents that ask others: shows their tools the conversation, and goes on with another agent where it was handed
 * over.
 *
 * @internal
 * @since 0.1.0
 */
import type { AssistantMessagePartEncoded } from "@effect/ai/Prompt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { FinishReason } from "../domain/AgentEvent.js"
import * as AgentResponse from "../domain/AgentResponse.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import { RunId, type UserId } from "../domain/Ids.js"
import * as JsonText from "../internal/JsonText.js"
import type { Message } from "../llm/LlmClient.js"
import * as Run from "../observability/Run.js"
import * as ModelCall from "../strategy/ModelCall.js"
import type { Answer } from "../strategy/Strategy.js"
import { MaxIterationsExceededError, OutputValidationError } from "../strategy/StrategyError.js"
import type * as Tool from "../tool/Tool.js"
import { Fatality } from "../tool/ToolRunner.js"
import type * as Agent from "./Agent.js"
import * as Conversation from "./Conversation.js"
import type { State } from "./Stage.js"

/** A conversation as another agent gets it: what stands before, and what it is asked. */
export interface Handed {
  readonly history: ReadonlyArray<Message>
  readonly input: string
}

/** Who goes on. */
export interface Target {
  readonly name: string
  readonly filter: (handed: Handed, from: string) => Handed
  readonly run: (
    request: Handed & { readonly runId: RunId; readonly userId: UserId | undefined },
    /** Of the agent that handed over: what its answer must be. */
    output: Agent.Output | undefined
  ) => Effect.Effect<Reached, unknown, any>
}

/** How the other agent answered; `output` is encoded. */
export interface Reached {
  readonly text: string
  readonly output: { readonly value: unknown } | undefined
  readonly reason: FinishReason
}

type Link = { readonly _tag: "Delegate" } | { readonly _tag: "Handoff"; readonly target: Target }

/** By the handler: it stays the same whatever else is changed about a tool. */
const links = new WeakMap<Tool.Erased["handle"], Link>()

/** Says of a tool's handler that it needs the conversation, or hands it over. */
export const link = (tool: Tool.Any, what: Link): void => void links.set(tool.erased.handle, what)

const strategies = new WeakSet<object>()

/** Says of a strategy that it needs the conversation: it asks other agents itself. */
export const linkStrategy = (strategy: object): void => void strategies.add(strategy)

interface Links {
  readonly handoffs: ReadonlyMap<string, Target>
}

const noLinks: Links = { handoffs: new Map() }

const known = new WeakMap<ReadonlyArray<Tool.Any>, Links | false>()

const linksOf = (tools: ReadonlyArray<Tool.Any>): Links | false => {
  let found = known.get(tools)
  if (found === undefined) {
    const handoffs = new Map<string, Target>()
    let any = false
    for (const tool of tools) {
      const one = links.get(tool.erased.handle)
      if (one === undefined) continue
      any = true
      if (one._tag === "Handoff") handoffs.set(tool.name, one.target)
    }
    found = any ? { handoffs } : false
    known.set(tools, found)
  }
  return found
}

/** The run that goes on, and how often the conversation was handed over on its way there. */
class HandedTo extends Context.Reference<HandedTo>()("effect-lexigram/agent/HandoffStage/HandedTo", {
  defaultValue: (): { readonly runId: RunId | undefined; readonly handoffs: number } => ({
    runId: undefined,
    handoffs: 0
  })
}) {}

/** Ends the reasoning: somebody else goes on. */
class HandedOver {
  readonly _tag = "HandedOver"
  readonly message = "The conversation was handed over"
}

const isHandedOver = (error: unknown): boolean =>
  error instanceof Fatality && (error.error as { readonly _tag?: unknown } | null)?._tag === "HandedOver"

/** A call that was the last one a limit allowed still counts. */
const isLimit = (error: unknown): boolean =>
  (error instanceof Fatality ? error.error : error) instanceof MaxIterationsExceededError

/** Runs number their calls for themselves; in one conversation an id may stand for one call only. */
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
 * What the run itself did so far, behind what it was asked: whole steps, so that it does not depend on which of the calls that run side by
 * side ends first.
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

/** The first call that handed the conversation over. Read from the events, which a run that is resumed repeats. */
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
      message: `The answer of "${target.name}" does not fit the output schema of the agent that handed over: ${issues.slice(0, 500)}`,
      hint: "Give both agents the same output schema, or the other one none"
    })
  })

/** Says that work goes to another agent, whose run is about to begin. */
export const delegated = (run: Run.Service, toAgent: string, childRunId: RunId, message: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    run.metrics?.delegated(toAgent)
    return run.emit({ _tag: "Delegated", toAgent, childRunId, message })
  })

/** Runs the other agent on the conversation; its answer is the answer. */
const handOver = (state: State, target: Target, handoffs: number): Effect.Effect<Answer, unknown, any> =>
  Effect.gen(function* () {
    const { agent, run } = state
    const { history, input } = target.filter(
      { history: withUniqueIds([...earlier(state), ...done(state)]), input: state.input },
      agent.name
    )
    const runId = RunId.make(yield* IdGenerator.generate)
    yield* delegated(run, target.name, runId, input)
    const { output } = agent.definition
    const reached = yield* state.tools.provide(
      Effect.provideService(target.run({ history, input, runId, userId: state.userId }, output), HandedTo, {
        runId,
        handoffs: handoffs + 1
      })
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

/** The reasoning of a run, and of whoever its conversation is handed over to. */
export const within = (
  state: State,
  program: Effect.Effect<Answer, unknown, any>
): Effect.Effect<Answer, unknown, any> => {
  const { strategy } = state.agent.definition
  const linked = linksOf(state.tools.tools)
  if (linked === false && (strategy === undefined || !strategies.has(strategy))) return program
  const found = linked === false ? noLinks : linked
  return Effect.withFiberRuntime((fiber) => {
    const { runId } = state.run
    const handedTo = Context.get(fiber.currentContext as Context.Context<any>, HandedTo)
    const handoffs = handedTo.runId === runId ? handedTo.handoffs : 0
    const conversation = conversationOf(state, handoffs)
    if (found.handoffs.size === 0) return Effect.provideService(program, Conversation.Conversation, conversation)
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
        Context.add(ModelCall.ModelCallInterceptors, [
          ...Context.get(current, ModelCall.ModelCallInterceptors),
          interceptor
        ])
      )
    )
    return Effect.matchEffect(reasoning, {
      onFailure: (error) => {
        const target = isHandedOver(error) || isLimit(error) ? pending() : undefined
        return target === undefined ? Effect.fail(error) : handOver(state, target, handoffs)
      },
      onSuccess: (answer) => {
        const target = pending()
        return target === undefined ? Effect.succeed(answer) : handOver(state, target, handoffs)
      }
    })
  })
}
