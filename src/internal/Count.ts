/**
 * A number of things as an option gives it: whole, no fewer than `least`; what is no number is as good as left out.
 * Infinity is no limit.
 */
export const count = (given: number | undefined, otherwise: number, least: number): number =>
  given === undefined || Number.isNaN(given) ? otherwise : Math.max(least, Math.floor(given))
