/**
 * Keeps the newest turns and ignores the query.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { TokenCounter } from "../../llm/model/TokenCounter.js"
import * as HistoryPruner from "./HistoryPruner.js"
import * as RankedHistoryPruner from "./RankedHistoryPruner.js"

/**
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<HistoryPruner.Service, never, TokenCounter> = RankedHistoryPruner.make({
  relevance: () => Effect.succeed([])
})

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, TokenCounter } from "effect-lexigram"
 * import { PrunedSessionHistory, RecencyContextPruner, Sessions } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * const agents = Agents.layerWith({
 *   sessions: Sessions.layer(),
 *   tokens: TokenCounter.layer({ model: "gpt-4o" }),
 *   history: PrunedSessionHistory.layer({ tokenBudget: 2_000 }).pipe(Layer.provide(RecencyContextPruner.layer))
 * })
 * ```
 */
export const layer: Layer.Layer<HistoryPruner.HistoryPruner, never, TokenCounter> = Layer.effect(
  HistoryPruner.HistoryPruner,
  make
)
