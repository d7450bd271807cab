/**
 * Hands a conversation to another agent, which answers in place of the first one.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { count } from "../internal/Count.js"
import type { Message } from "../llm/model/LlmClient.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as Run from "../observability/Run.js"
import * as Tool from "../tool/definition/Tool.js"
import * as ToolSet from "../tool/definition/ToolSet.js"
import * as AgentExecutor from "./AgentExecutor.js"
import * as HandoffRoute from "./conversation/HandoffRoute.js"
import type * as Agent from "./definition/Agent.js"
import { aboutOf } from "./definition/AgentDefinition.js"
import { HandoffError } from "./definition/AgentError.js"
import * as Conversation from "./definition/Conversation.js"
import * as RunPreparation from "./RunPreparation.js"

/**
 * The handed conversation: `input` is the input of the run, `history` everything else in order: the earlier messages
 * and the tool calls of the run with their results. System messages are never part of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handed {
  readonly history: ReadonlyArray<Message>
  readonly input: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Default `transfer_to_` and the agent's name. Models see it in the form that their providers accept, unique within a
   * tool set.
   */
  readonly name?: string | undefined
  /** Default: the name of the agent that takes over and the beginning of its system prompt. */
  readonly description?: string | undefined
  /** Changes what the other agent gets, `from` the named agent; default everything. */
  readonly input?: ((handed: Handed, from: string) => Handed) | undefined
  /**
   * How often one conversation may be handed over, cycles included; default 10. After that the call is refused, and the
   * model answers itself.
   */
  readonly maxHandoffs?: number | undefined
}

const defaultMaxHandoffs = 10
/** Maximum characters about the agent. */
const maxAbout = 200

const parameters = {
  note: Schema.optional(
    Schema.String.annotations({ description: "What the agent should know that the conversation does not say" })
  )
}

const described = (name: string, about: string): string =>
  `Hand the whole conversation over to "${name}", who answers the user in your place${about === "" ? "" : `: ${about}`}`

const withBack = new WeakMap<ToolSet.ToolSet<any, any>, WeakMap<Agent.Any, ToolSet.ToolSet<any, any>>>()

/**
 * The tools of an agent plus a handoff back to the agent that handed over, unless it has one. Created once per pair.
 */
const toolsWithBack = (tools: ToolSet.ToolSet<any, any>, back: HandoffRoute.Station): ToolSet.ToolSet<any, any> => {
  if (HandoffRoute.handsTo(tools.tools, back.name)) return tools
  const agent = back.agent()
  const known = withBack.get(tools) ?? new WeakMap<Agent.Any, ToolSet.ToolSet<any, any>>()
  withBack.set(tools, known)
  let made = known.get(agent)
  if (made === undefined) {
    let name = `transfer_to_${back.name}`
    while (tools.get(name) !== undefined) name = `${name}_back`
    const description = `Hand the whole conversation back to "${back.name}", who answers the user in your place: for what is not your work`
    made = ToolSet.merge(tools, ToolSet.make(make(back.name, back.agent, description, { name })))
    known.set(agent, made)
  }
  return made
}

/** The agent in a conversation that the run above keeps, with the output that this run must return. */
const continuing = (
  agent: Agent.Any,
  output: Agent.Output | undefined,
  back: HandoffRoute.Station | undefined
): Agent.Any => ({
  ...agent,
  definition: {
    ...agent.definition,
    tools: back === undefined ? agent.definition.tools : toolsWithBack(agent.definition.tools, back),
    memory: agent.definition.memory ?? WorkingMemory.noop,
    output: agent.definition.output ?? output
  }
})

const targetOf = (name: string, agent: () => Agent.Any, filter: Options["input"]): HandoffRoute.Target => ({
  name,
  agent,
  filter: filter ?? ((handed) => handed),
  run: ({ files, input, ...request }, output, back) =>
    Effect.suspend(() => {
      const next = continuing(agent(), output, back)
      const form = next.definition.output
      const asked = { ...request, input: RunPreparation.withFiles(input, files) }
      return Effect.flatMap(AgentExecutor.run(next, asked), (response): Effect.Effect<HandoffRoute.Reached> => {
        const reached = { text: response.message, reason: response.finishReason ?? ("completed" as const) }
        if (form === undefined) return Effect.succeed({ ...reached, output: undefined })
        // The output was decoded by this very schema.
        return Effect.map(Effect.orDie(form.encode(response.output)), (value) => ({ ...reached, output: { value } }))
      })
    })
})

const make = (
  agentName: string,
  agent: () => Agent.Any,
  description: string,
  options: Options
): Tool.Tool<any, string, any, any, HandoffError> => {
  const maxHandoffs = count(options.maxHandoffs, defaultMaxHandoffs, 0)
  const refuse = (reason: HandoffError["reason"], message: string) =>
    new HandoffError({ agentName, toAgent: agentName, reason, message })
  const tool = Tool.make(options.name ?? `transfer_to_${agentName}`, {
    description,
    parameters,
    success: Schema.String,
    failure: HandoffError,
    retries: 0,
    handler: () =>
      Effect.gen(function* () {
        const conversation = yield* Conversation.Conversation
        if (conversation === undefined || conversation.runId !== (yield* Run.Run).runId) {
          return yield* refuse("outside", "There is no conversation to hand over: only a run of an agent has one")
        }
        if (conversation.handoffs >= maxHandoffs) {
          return yield* refuse(
            "limit",
            `The conversation was already handed over ${conversation.handoffs} times: answer the user yourself`
          )
        }
        const taken = conversation.claim(agentName)
        if (taken !== undefined) return yield* refuse("taken", `The conversation was already handed to "${taken}"`)
        return `The conversation continues with "${agentName}"`
      })
  })
  HandoffRoute.link(tool, { _tag: "Handoff", target: targetOf(agentName, agent, options.input) })
  return tool
}

/**
 * A tool that ends the reasoning of the calling agent: the other agent answers instead, in a run inside the caller's,
 * on the conversation so far, with its own system prompt, tools, strategy, guards and limits. The limits of the caller
 * apply as well. Its answer is the caller's; its failure fails the caller's run and appears in the caller's `E`.
 *
 * Calls beside it in the same turn run first. Of two handoffs in one turn the first wins and the other is refused. If
 * the caller has an output schema, the answer must match it; an agent without a schema of its own is asked for it. The
 * other agent works for the same user; only the caller's run keeps the session and the memory of the conversation.
 *
 * The other agent can always hand back: it gets a handoff to the agent that handed over, unless it has one. In a
 * session the next run continues with the agent that answered last, as long as the called agent reaches it by handoffs;
 * with `startWith: "called"` in the request it begins with the called agent.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent, Handoff } from "effect-lexigram"
 *
 * const billing = Agent.make("billing", { system: "You answer questions about invoices." })
 *
 * const desk = Agent.make("desk", {
 *   system: "You find out who can help, and hand over.",
 *   tools: [Handoff.to(billing)]
 * })
 * ```
 */
export const to = <O, E, R>(
  agent: Agent.Agent<O, E, R>,
  options: Options = {}
): Tool.Tool<{ readonly note?: string | undefined }, string, E, R | AgentExecutor.AgentExecutor, HandoffError> =>
  make(
    agent.name,
    () => agent,
    options.description ?? described(agent.name, aboutOf(agent.definition, maxAbout)),
    options
  )

/**
 * As `to`, for an agent that is created later, such as one that hands back to this one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const lazy = <O, E, R>(
  name: string,
  agent: () => Agent.Agent<O, E, R>,
  options: Options = {}
): Tool.Tool<{ readonly note?: string | undefined }, string, E, R | AgentExecutor.AgentExecutor, HandoffError> =>
  make(name, agent, options.description ?? described(name, ""), options)

/**
 * Removes tool calls and their results, for models that refuse those of tools they do not have.
 *
 * @since 0.1.0
 * @category filters
 */
export const withoutTools = (handed: Handed): Handed => ({
  ...handed,
  history: handed.history.flatMap((message): ReadonlyArray<Message> => {
    if (message.role === "tool") return []
    if (message.role !== "assistant" || typeof message.content === "string") return [message]
    const content = message.content.filter((part) => part.type !== "tool-call" && part.type !== "tool-result")
    return content.length === 0 ? [] : [{ ...message, content }]
  })
})
