/**
 * Ids of printable ASCII, which nearly all are. Every schema of an id accepts them, and testing one costs a hundredth
 * of a decoding.
 *
 * @private
 * @since 0.1.0
 */

const pattern = /^[ -~]{1,256}$/

/**
 * @since 0.1.0
 * @category guards
 */
export const is = (value: unknown): value is string => typeof value === "string" && pattern.test(value)

/**
 * Makes an id as the schema does, by the schema only if the text is not plain.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <A extends string>(schema: { readonly make: (text: string) => A }, text: string): A =>
  is(text) ? (text as A) : schema.make(text)
