/**
 * Lets hooks change the text of an answer.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as AgentHooks from "../observability/AgentHooks.js"
import type { Answer } from "../strategy/definition/Strategy.js"
import * as StructuredOutput from "../strategy/reasoning/StructuredOutput.js"
import { infoOf } from "./definition/RunIdentity.js"
import type { State } from "./definition/Stage.js"

/** The answer with another text, and the output that the text has. */
const rewritten = (
  { agent }: State,
  strategyName: string,
  answer: Answer,
  text: string
): Effect.Effect<Answer, unknown> => {
  const { output } = agent.definition
  const messages = [...answer.messages.slice(0, -1), { role: "assistant" as const, content: text }]
  return output === undefined
    ? Effect.succeed({ ...answer, text, messages })
    : Effect.map(StructuredOutput.again(output.spec, strategyName, text), (shaped) => ({
        ...answer,
        ...shaped,
        messages
      }))
}

/** The answer as the filters leave it. That of an agent with an output of its own stays as it is. */
export const apply = (state: State, strategyName: string, answer: Answer): Effect.Effect<Answer, unknown> => {
  const { hooks } = state.run
  const { output } = state.agent.definition
  const isOwn = output !== undefined && output.isRequested !== true
  return isOwn || !hooks.has(AgentHooks.AgentAnswerFilter)
    ? Effect.succeed(answer)
    : Effect.flatMap(hooks.apply(AgentHooks.AgentAnswerFilter, answer.text, infoOf(state)), (text) =>
        text === answer.text ? Effect.succeed(answer) : rewritten(state, strategyName, answer, text)
      )
}
