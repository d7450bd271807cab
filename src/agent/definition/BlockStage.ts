/**
 * Shows memory blocks in every run of an agent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import type * as MemoryStore from "../../memory/search/MemoryStore.js"
import type * as MemoryBlock from "../../memory/tools/MemoryBlock.js"
import * as MemoryToolError from "../../memory/tools/MemoryToolError.js"
import * as Stage from "./Stage.js"

const blockMessages = OnDemand.make(() => import("../../memory/tools/MemoryBlock.js"))

/**
 * For `Agent.withStages`: adds the blocks of the run's user as a message of data before recalled memory, never to the
 * system prompt. A run without a user sees none. A store that fails is reported and skipped. With a `NamespaceStage`,
 * fields that the user does not have come from shared namespaces.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { BlockStage } from "effect-lexigram/agent"
 * import { MemoryBlock } from "effect-lexigram/memory"
 * import * as Schema from "effect/Schema"
 *
 * const profile = MemoryBlock.make("profile", { description: "Who the user is", fields: { name: Schema.String } })
 *
 * const clerk = Agent.make("clerk").pipe(
 *   Agent.withStages(BlockStage.make(profile)),
 *   Agent.withTools(MemoryBlock.updateTool(profile))
 * )
 * ```
 */
export const make = (
  ...blocks: ReadonlyArray<MemoryBlock.MemoryBlock<any>>
): Stage.Placed<never, MemoryStore.MemoryStore> =>
  Stage.inside("memory")(
    Stage.make("memoryBlocks", (state, next) =>
      Effect.matchEffect(MemoryToolError.owner, {
        onFailure: () => next(state),
        onSuccess: (ownerId) =>
          Effect.flatMap(
            Stage.degrade(
              Effect.flatMap(blockMessages, ({ messages }) => messages(blocks, ownerId, state.inherits)),
              { state, stage: "memory blocks", orElse: [] }
            ),
            (shown) => next(shown.length === 0 ? state : { ...state, history: [...shown, ...state.history] })
          )
      })
    )
  )
