/**
 * Recognizes plain objects: object literals, and objects without a prototype.
 *
 * @private
 * @since 0.1.0
 */

/** True for a plain object. Arrays, dates and class instances are not. */
export const isPlainObject = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
