/**
 * Notices when a loop goes in circles: the same call with the same result, again and again.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export interface CircleDetector {
  /** Notes a call and what it showed; gives back how often exactly this has happened now. Constant work. */
  readonly note: (name: string, params: unknown, observation: string) => number
}

const key = (name: string, params: unknown, observation: string): string =>
  `${name}\u0000${typeof params === "string" ? params : (JSON.stringify(params) ?? "")}\u0000${observation}`

/**
 * @since 0.1.0
 * @category constructors
 */
export const makeCircleDetector = (): CircleDetector => {
  const seen = new Map<string, number>()
  return {
    note: (name, params, observation) => {
      const one = key(name, params, observation)
      const count = (seen.get(one) ?? 0) + 1
      seen.set(one, count)
      return count
    }
  }
}
