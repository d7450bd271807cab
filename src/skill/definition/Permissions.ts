/**
 * Permissions: texts of dot-separated segments such as `files.read`.
 *
 * @since 0.1.0
 */

/**
 * Whether the granted permissions allow a required one. A segment `*` of a grant matches any one segment, at the end
 * one or more: `files.*` allows `files.read` and `files.read.own`, not `files`; `*` allows everything. Nothing else is
 * a pattern: `fi*` is a name. A required permission that contains a `*` is allowed only by exactly the same grant: a
 * request never widens what a user has.
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
 * The required permissions that are not granted, in order.
 *
 * @since 0.1.0
 * @category accessors
 */
export const missing = (granted: Iterable<string>, required: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isAllowed = allows(granted)
  return required.filter((permission) => !isAllowed(permission))
}
