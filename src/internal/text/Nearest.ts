/** Finds the name a misspelled one most likely means. */

const MAX = 64

/** Number of insertions, deletions and replacements between two short texts. */
const distance = (a: string, b: string): number => {
  let before = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (before[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(swap, (before[j] as number) + 1, (row[j - 1] as number) + 1))
    }
    before = row
  }
  return before[b.length] as number
}

const letters = (name: string): string =>
  name
    .slice(0, MAX)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "")

/**
 * Returns the known name closest to a given one: the same letters, one contained in the other, or few edits (at most a
 * third of its length, or two). `undefined` if none is close. Compares the first 64 characters.
 */
export const nearest = (name: string, known: ReadonlyArray<string>): string | undefined => {
  const given = letters(name)
  if (given === "") return undefined
  let best: string | undefined
  // Two swapped letters are two edits.
  let least = Math.max(given.length < 4 ? 0 : 2, Math.floor(given.length / 3)) + 1
  for (const candidate of known) {
    const other = letters(candidate)
    if (other === given) return candidate
    if (other === "") continue
    const contained = Math.min(other.length, given.length) > 3 && (other.includes(given) || given.includes(other))
    const d = contained ? 0 : Math.abs(other.length - given.length) < least ? distance(given, other) : least
    if (d < least) {
      least = d
      best = candidate
    }
  }
  return best
}
