/**
 * Detects a loop that goes in circles: consecutive steps that make the same calls and see the same results.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { stringify } from "../../tool/definition/Observation.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import type { Outcome, ToolCall } from "../../tool/ToolRunner.js"

/**
 * The results of the last step with calls, and how many consecutive steps had no others.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Circles = Schema.Struct({ seen: Schema.Array(Schema.String), repeats: Schema.Number })
/**
 * @since 0.1.0
 * @category models
 */
export interface Circles extends Schema.Schema.Type<typeof Circles> {}

/**
 * The value before the first call.
 *
 * @since 0.1.0
 * @category constants
 */
export const empty: Circles = { seen: [], repeats: 0 }

const keyOf = (name: string, params: unknown, observation: string): string =>
  `${name}\u0000${stringify(params) ?? ""}\u0000${observation}`

/**
 * Records the next step with calls. A step repeats the previous one if each of its calls and results occurred there. A
 * `polling` tool or an approved call resets the count, because something else happened in between. Time and memory
 * depend on the step alone, not on the number of steps.
 *
 * @since 0.1.0
 * @category combinators
 */
export const note = (
  last: Circles,
  tools: Bound,
  calls: ReadonlyArray<ToolCall>,
  outcomes: ReadonlyArray<Outcome>
): Circles => {
  const waits = outcomes.some(
    ({ approved, name }) => approved === true || tools.get(name)?.annotations.polling === true
  )
  if (outcomes.length === 0 || waits) return empty
  const seen = outcomes.map(({ name, observation }, i) => keyOf(name, calls[i]?.params, observation))
  const before = new Set(last.seen)
  return { seen, repeats: seen.every((key) => before.has(key)) ? last.repeats + 1 : 1 }
}
