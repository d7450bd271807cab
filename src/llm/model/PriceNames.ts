/**
 * Finds the entry of a price list for a model that answers under a longer name.
 *
 * @private
 * @since 0.1.0
 */

/**
 * The longest known name that a name begins with, up to a `-`, `:` or `@`; the name itself if it is known.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (known: Iterable<string>): ((name: string) => string | undefined) => {
  const exact = new Set(known)
  const names = Array.from(exact).sort((a, b) => b.length - a.length)
  return (name) =>
    exact.has(name)
      ? name
      : names.find((one) => name.startsWith(one) && "-:@".includes(name.charAt(one.length)) && one !== name)
}

const release = /^[-@](?:\d{3,4}|\d{8}|\d{4}-\d{2}-\d{2}|latest)$/

/**
 * Whether the rest of a name denotes a release of the same model: a date, a number of three or four digits, `latest`.
 *
 * @since 0.1.0
 * @category guards
 */
export const isRelease = (rest: string): boolean => rest === "" || release.test(rest)
