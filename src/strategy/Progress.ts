/**
 * Notices when a loop goes in circles: the same call with the same result, again and again.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { stringify } from "../tool/Observation.js"

/**
 * What the last run of a call showed, in how many steps it has shown just this, and the last of them.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Seen = Schema.Struct({ observation: Schema.String, count: Schema.Number, step: Schema.Number })
/**
 * @since 0.1.0
 * @category models
 */
export interface Seen extends Schema.Schema.Type<typeof Seen> {}

/**
 * The calls of a run so far, as a value: for states that are never changed in place.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Circles = Schema.HashMap({ key: Schema.String, value: Seen })
/**
 * @since 0.1.0
 * @category models
 */
export type Circles = typeof Circles.Type

/**
 * Before the first call.
 *
 * @since 0.1.0
 * @category constants
 */
export const empty: Circles = HashMap.empty()

const keyOf = (name: string, params: unknown): string => `${name}\u0000${stringify(params) ?? ""}`

const next = (last: Seen | undefined, step: number, observation: string): Seen =>
  last === undefined || last.observation !== observation
    ? { observation, count: 1, step }
    : { observation, count: last.step === step ? last.count : last.count + 1, step }

/**
 * Notes a call and what it showed; `repeats` is in how many steps that call has shown just this, without anything else in between. Equal
 * calls of one step count once. Work and memory depend on the call alone, not on how many there were.
 *
 * @since 0.1.0
 * @category combinators
 */
export const note = (
  circles: Circles,
  step: number,
  name: string,
  params: unknown,
  observation: string
): { readonly circles: Circles; readonly repeats: number } => {
  const key = keyOf(name, params)
  const seen = next(Option.getOrUndefined(HashMap.get(circles, key)), step, observation)
  return { circles: HashMap.set(circles, key, seen), repeats: seen.count }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CircleDetector {
  /** As `note` of this module, on a memory of its own. */
  readonly note: (step: number, name: string, params: unknown, observation: string) => number
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const makeCircleDetector = (): CircleDetector => {
  const circles = new Map<string, Seen>()
  return {
    note: (step, name, params, observation) => {
      const key = keyOf(name, params)
      const seen = next(circles.get(key), step, observation)
      circles.set(key, seen)
      return seen.count
    }
  }
}
