/**
 * Adds recalled memory to the history.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import { hasOwner } from "../definition/RunIdentity.js"
import type { Stage } from "../definition/Stage.js"

const memory = OnDemand.make(() => import("../conversation/RecalledMemory.js"))

/**
 * Assembles working memory within its token budget. A memory that fails is skipped.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "memory",
  wrap: (state, next) =>
    hasOwner(state) ? Effect.flatMap(memory, ({ recalled }) => Effect.flatMap(recalled(state), next)) : next(state)
}
