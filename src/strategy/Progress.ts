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

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  ) ?? ""

/**
 * @since 0.1.0
 * @category constructors
 */
export const makeCircleDetector = (): CircleDetector => {
  const seen = new Map<string, number>()
  return {
    note: (name, params, observation) => {
      const key = `${name}\u0000${typeof params === "string" ? params : canonical(params)}\u0000${observation}`
      const count = (seen.get(key) ?? 0) + 1
      seen.set(key, count)
      return count
    }
  }
}
