/**
 * The memories of a run: the agent's own or the executor's, and the plain conversation of an agent that has one.
 *
 * @private
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import type { MemoryError } from "../../memory/entry/MemoryError.js"
import type * as ConversationWorkingMemory from "../../memory/working/ConversationWorkingMemory.js"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import type { State } from "./Stage.js"

const implementation = OnDemand.make(() => import("../../memory/working/ConversationWorkingMemory.js"))

/** Created once per executor, so that a conversation outlives a run. */
const conversationOf = (
  state: State,
  conversations: ConversationWorkingMemory.Conversations<MemoryError>
): Effect.Effect<WorkingMemory.Service> =>
  Effect.contextWithEffect((context: Context.Context<never>) => {
    const known = state.uses.conversations.get(conversations)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(
      Effect.provideService(
        Effect.flatMap(implementation, ({ make }) => make(conversations)),
        TokenCounter.TokenCounter,
        TokenCounter.inContext(context)
      ),
      (made) => {
        // Another run may have created it in the meantime.
        const first = state.uses.conversations.get(conversations) ?? made
        state.uses.conversations.set(conversations, first)
        return first
      }
    )
  })

/**
 * The memories of a run, the preferred one first: the working memory of its agent, else that of the executor if it has
 * one, then the plain conversation of the agent. The first one that answers is recalled from; all of them are written.
 *
 * @category getters
 */
export const fromState = (state: State): Effect.Effect<ReadonlyArray<WorkingMemory.Service>> => {
  const own = state.agent.definition.memory
  if (own !== undefined && typeof own !== "function") return Effect.succeed([own])
  const shared = state.uses.memory === WorkingMemory.noop ? [] : [state.uses.memory]
  return own === undefined
    ? Effect.succeed(shared)
    : Effect.map(conversationOf(state, own), (conversation) => [...shared, conversation])
}
