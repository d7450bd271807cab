/**
 * Reads a number option: a whole number of at least `least`. A missing option or NaN gives `otherwise`; Infinity means
 * no limit.
 */
export const count = (given: number | undefined, otherwise: number, least: number): number =>
  given === undefined || Number.isNaN(given) ? otherwise : Math.max(least, Math.floor(given))
