/**
 * Permissions as texts of segments that are separated by dots: `files.read`.
 *
 * @since 0.1.0
 */

/**
 * Whether something is allowed by what was granted. A segment `*` of a grant stands for one segment of any content, at
 * the end for one or more: `files.*` allows `files.read` and `files.read.own`, not `files`; `*` allows everything.
 * Nothing else is a pattern: `fi*` is a name. Something required that holds a `*` is allowed by exactly the same grant
 * only: what a skill asks for never widens what a user has.
 *
 * @since 0.1.0
 * @category models
 */
export type Allows = (required: string) => boolean

const fits = (pattern: ReadonlyArray<string>, segments: ReadonlyArray<string>): boolean => {
  const last = pattern.length - 1
  const isOpen = pattern[last] === "*"
  if (isOpen ? segments.length < pattern.length : segments.length !== pattern.length) return false
  const fixed = isOpen ? last : pattern.length
  for (let i = 0; i < fixed; i++) if (pattern[i] !== "*" && pattern[i] !== segments[i]) return false
  return true
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const allows = (granted: Iterable<string>): Allows => {
  const exact = new Set(granted)
  const patterns: Array<ReadonlyArray<string>> = []
  for (const grant of exact) {
    if (!grant.includes("*")) continue
    const segments = grant.split(".")
    if (segments.includes("*")) patterns.push(segments)
  }
  return (required) => {
    if (exact.has(required)) return true
    if (patterns.length === 0 || required.includes("*")) return false
    const segments = required.split(".")
    return patterns.some((pattern) => fits(pattern, segments))
  }
}

/**
 * Those of what is required that were not granted, in their order.
 *
 * @since 0.1.0
 * @category accessors
 */
export const missing = (granted: Iterable<string>, required: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isAllowed = allows(granted)
  return required.filter((permission) => !isAllowed(permission))
}
