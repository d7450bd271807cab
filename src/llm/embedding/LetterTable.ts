/**
 * Maps each UTF-16 unit to its comparison form: a small letter without accents, nothing, or the end of a word. It
 * covers characters that have long been in Unicode, so that it does not depend on the Unicode version of the process.
 *
 * @private
 * @since 0.1.0
 */

/**
 * Ends a word.
 *
 * @since 0.1.0
 * @category constants
 */
export const separator = 0

/**
 * Is ignored: accents, points, joiners.
 *
 * @since 0.1.0
 * @category constants
 */
export const skipped = 0xffff

const separators: ReadonlyArray<readonly [number, number]> = [
  [0x0000, 0x002f],
  [0x003a, 0x0040],
  [0x005b, 0x0060],
  [0x007b, 0x00a9],
  [0x00ab, 0x00b4],
  [0x00b6, 0x00b9],
  [0x00bb, 0x00bf],
  [0x00d7, 0x00d7],
  [0x00f7, 0x00f7],
  [0x037e, 0x037e],
  [0x0387, 0x0387],
  [0x055a, 0x055f],
  [0x0589, 0x058a],
  [0x05be, 0x05be],
  [0x05c0, 0x05c0],
  [0x05c3, 0x05c3],
  [0x05f3, 0x05f4],
  [0x060c, 0x060d],
  [0x061b, 0x061f],
  [0x066a, 0x066d],
  [0x06d4, 0x06d4],
  [0x0964, 0x0965],
  [0x1680, 0x1680],
  [0x2000, 0x206f],
  [0x20a0, 0x20cf],
  [0x2190, 0x25ff],
  [0x2e00, 0x2e7f],
  [0x3000, 0x3003],
  [0x3008, 0x3020],
  [0x3030, 0x3030],
  [0x303d, 0x303f],
  [0x30a0, 0x30a0],
  [0x30fb, 0x30fb],
  [0xfe10, 0xfe1f],
  [0xfe30, 0xfe6f],
  [0xff5f, 0xff65],
  [0xffe0, 0xffee],
  [0xfff9, 0xffff]
]

const ignored: ReadonlyArray<readonly [number, number]> = [
  [0x00ad, 0x00ad],
  [0x0300, 0x036f],
  [0x0483, 0x0489],
  [0x0591, 0x05bd],
  [0x05bf, 0x05bf],
  [0x05c1, 0x05c2],
  [0x05c4, 0x05c5],
  [0x05c7, 0x05c7],
  [0x0610, 0x061a],
  [0x0640, 0x0640],
  [0x064b, 0x065f],
  [0x0670, 0x0670],
  [0x06d6, 0x06dc],
  [0x200b, 0x200f],
  [0x2060, 0x2064],
  [0x20d0, 0x20ff],
  [0xfe00, 0xfe0f],
  [0xfe20, 0xfe2f],
  [0xfeff, 0xfeff]
]

/** Latin, Greek, Cyrillic, Armenian, and the accented letters of Latin and Greek that were added later. */
const foldedRanges: ReadonlyArray<readonly [number, number]> = [
  [0x0041, 0x058f],
  [0x1e00, 0x1fff]
]

const fullWidth = [0xff01, 0xff5e] as const
const finalSigma = 0x03c2
const sigma = 0x03c3

const fold = (unit: number): number => {
  const bare = String.fromCharCode(unit).toLowerCase().normalize("NFKD").charCodeAt(0)
  if (bare === finalSigma) return sigma
  // A spacing accent is a space with an accent.
  return bare === 0x20 ? separator : bare
}

const build = (): Uint16Array => {
  const table = new Uint16Array(0x10000)
  for (let unit = 0; unit < table.length; unit++) table[unit] = unit
  const each = (ranges: ReadonlyArray<readonly [number, number]>, valueOf: (unit: number) => number): void => {
    for (const [first, last] of ranges) for (let unit = first; unit <= last; unit++) table[unit] = valueOf(unit)
  }
  each(foldedRanges, fold)
  each(separators, () => separator)
  each(ignored, () => skipped)
  const [first, last] = fullWidth
  each([[first, last]], (unit) => table[unit - first + 0x21] as number)
  return table
}

let table: Uint16Array | undefined

/**
 * One entry per unit: its comparison letter, or one of the two constants. Built on first use.
 *
 * @since 0.1.0
 * @category constants
 */
export const get = (): Uint16Array => {
  table ??= build()
  return table
}

/**
 * Scripts without spaces between words: Chinese characters, Japanese syllables, Thai, Lao, Burmese, Khmer.
 *
 * @since 0.1.0
 * @category guards
 */
export const isUnspaced = (unit: number): boolean =>
  unit >= 0x0e00 &&
  (unit <= 0x0eff ||
    (unit >= 0x1000 && unit <= 0x109f) ||
    (unit >= 0x1780 && unit <= 0x17ff) ||
    (unit >= 0x3005 && unit <= 0x30ff) ||
    (unit >= 0x3400 && unit <= 0x9fff) ||
    (unit >= 0xf900 && unit <= 0xfaff))
