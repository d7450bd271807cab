/**
 * The memories of a run: an agent's own or the executor's, and the plain conversation of an agent that has one.
 *
 * @internal
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import type { MemoryError } from "../../memory/entry/MemoryError.js"
import * as ConversationWorkingMemory from "../../memory/working/ConversationWorkingMemory.js"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import type { State } from "./Stage.js"

/** Made once an executor, so that a conversation lasts longer than a run. */
const conversationOf = (
  state: State,
  conversations: ConversationWorkingMemory.Conversations<MemoryError>
): Effect.Effect<WorkingMemory.Service> =>
  Effect.contextWithEffect((context: Context.Context<never>) => {
    const known = state.uses.conversations.get(conversations)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(
      Effect.provideService(
        ConversationWorkingMemory.make(conversations),
        TokenCounter.TokenCounter,
        TokenCounter.inContext(context)
      ),
      (made) => {
        // Another run may have been here meanwhile.
        const first = state.uses.conversations.get(conversations) ?? made
        state.uses.conversations.set(conversations, first)
        return first
      }
    )
  })

/**
 * The memories of a run, the preferred one first: its agent's working memory, else the executor's if it has one, then
 * the agent's plain conversation. Recalled from is the first that answers; what was said is kept in all of them.
 *
 * @category getters
 */
export const of = (state: State): Effect.Effect<ReadonlyArray<WorkingMemory.Service>> => {
  const own = state.agent.definition.memory
  if (own !== undefined && typeof own !== "function") return Effect.succeed([own])
  const shared = state.uses.memory === WorkingMemory.noop ? [] : [state.uses.memory]
  return own === undefined
    ? Effect.succeed(shared)
    : Effect.map(conversationOf(state, own), (conversation) => [...shared, conversation])
}
