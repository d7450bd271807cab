/**
 * Differences of texts by their lines.
 *
 * @private
 * @since 0.1.0
 */

/** A line that stays, goes or comes. */
export interface Line {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
}

/** Pairs of lines that are compared at most: about a second. Larger texts are replaced as a whole. */
const mostPairs = 4_000_000

const as = (kind: Line["kind"], lines: ReadonlyArray<string>): ReadonlyArray<Line> =>
  lines.map((text) => ({ kind, text }))

/** Lengths of the longest common subsequences of what follows each pair of lines. */
const common = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<Uint32Array> => {
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1))
  for (let i = before.length - 1; i >= 0; i--) {
    const [row, next] = [lengths[i] as Uint32Array, lengths[i + 1] as Uint32Array]
    for (let j = after.length - 1; j >= 0; j--) {
      row[j] = before[i] === after[j] ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0)
    }
  }
  return lengths
}

const between = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<Line> => {
  if (before.length * after.length > mostPairs) return [...as("removed", before), ...as("added", after)]
  const lengths = common(before, after)
  const lines: Array<Line> = []
  let [i, j] = [0, 0]
  while (i < before.length && j < after.length) {
    const text = before[i] ?? ""
    if (text === after[j]) {
      lines.push({ kind: "same", text })
      i++
      j++
    } else if ((lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0)) {
      lines.push({ kind: "removed", text })
      i++
    } else {
      lines.push({ kind: "added", text: after[j] ?? "" })
      j++
    }
  }
  return [...lines, ...as("removed", before.slice(i)), ...as("added", after.slice(j))]
}

/** The lines of both texts, with as many of them the same as can be. */
export const lines = (before: string, after: string): ReadonlyArray<Line> => {
  const [old, next] = [before.split("\n"), after.split("\n")]
  const most = Math.min(old.length, next.length)
  let head = 0
  while (head < most && old[head] === next[head]) head++
  let tail = 0
  while (tail < most - head && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail++
  return [
    ...as("same", old.slice(0, head)),
    ...between(old.slice(head, old.length - tail), next.slice(head, next.length - tail)),
    ...as("same", old.slice(old.length - tail))
  ]
}
