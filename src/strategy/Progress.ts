/**
 * Notices when a loop goes in circles: the same call with the same result, again and again.
 *
 * @since 0.1.0
 */
import { stringify } from "../tool/Observation.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface CircleDetector {
  /**
   * Notes a call and what it showed; gives back in how many steps that call has shown just this, without anything else in between. Equal
   * calls of one step count once. Work and memory depend on the call alone, not on how many there were.
   */
  readonly note: (step: number, name: string, params: unknown, observation: string) => number
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const makeCircleDetector = (): CircleDetector => {
  const seen = new Map<string, { observation: string; count: number; step: number }>()
  return {
    note: (step, name, params, observation) => {
      const call = `${name}\u0000${stringify(params) ?? ""}`
      const last = seen.get(call)
      if (last === undefined) {
        seen.set(call, { observation, count: 1, step })
        return 1
      }
      if (last.observation !== observation) last.count = 1
      else if (last.step !== step) last.count++
      last.step = step
      last.observation = observation
      return last.count
    }
  }
}
