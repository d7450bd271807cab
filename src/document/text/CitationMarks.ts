/**
 * Citations in Markdown: `[3]`, `[1, 2]`, `[1-3]`. Text in code is not a citation.
 *
 * @since 0.1.0
 */

/** A piece of text, and whether it is code. */
interface Stretch {
  readonly text: string
  readonly isCode: boolean
}

/** A line of three backticks or more that opens or closes a block of code. */
interface Fence {
  readonly length: number
  /** Nothing but space follows. */
  readonly isBare: boolean
}

/** By hand: a regular expression keeps a place to go back to for each backtick. */
const fenceOf = (line: string): Fence | undefined => {
  let at = 0
  while (at < 3 && line[at] === " ") at++
  const from = at
  while (line[at] === "`") at++
  if (at - from < 3 || line.includes("`", at)) return undefined
  return { length: at - from, isBare: line.slice(at).trim() === "" }
}

/** Code spans of one line: from a run of backticks to the next run of the same length. */
const spans = (line: string, into: Array<Stretch>): void => {
  if (!line.includes("`")) {
    into.push({ text: line, isCode: false })
    return
  }
  const runs = [...line.matchAll(/`+/g)].map((match) => ({ at: match.index, length: match[0].length }))
  const partners: Array<number | undefined> = new Array(runs.length)
  const next = new Map<number, number>()
  for (let i = runs.length - 1; i >= 0; i--) {
    const { length } = runs[i]!
    partners[i] = next.get(length)
    next.set(length, i)
  }
  let from = 0
  for (let i = 0; i < runs.length; i++) {
    const partner = partners[i]
    if (partner === undefined) continue
    const end = runs[partner]!.at + runs[partner]!.length
    into.push({ text: line.slice(from, runs[i]!.at), isCode: false })
    into.push({ text: line.slice(runs[i]!.at, end), isCode: true })
    from = end
    i = partner
  }
  into.push({ text: line.slice(from), isCode: false })
}

/**
 * Splits a text into lines and marks those in a fenced code block, fences included.
 *
 * @since 0.1.0
 * @category conversions
 */
export const linesOf = (text: string): ReadonlyArray<{ readonly line: string; readonly isFenced: boolean }> => {
  let open = 0
  return text.split("\n").map((line) => {
    const fence = fenceOf(line)
    if (open > 0) {
      if (fence?.isBare === true && fence.length >= open) open = 0
      return { line, isFenced: true }
    }
    if (fence === undefined) return { line, isFenced: false }
    open = fence.length
    return { line, isFenced: true }
  })
}

/**
 * Maps the lines outside fenced code; a line mapped to `undefined` is removed. An unclosed block is closed.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapLines = (text: string, f: (line: string) => string | undefined): string => {
  const out: Array<string> = []
  let open = 0
  for (const { isFenced, line } of linesOf(text)) {
    const mapped = isFenced ? line : f(line)
    if (mapped !== undefined) out.push(mapped)
    const fence = isFenced ? fenceOf(line) : undefined
    if (fence === undefined) continue
    if (open === 0) open = fence.length
    else if (fence.isBare && fence.length >= open) open = 0
  }
  if (open > 0) out.push("`".repeat(open))
  return out.join("\n")
}

const citation = /( ?)(?:\[([\d\s,;–-]+)\](?:\((?:https?:)?\/\/[^()\s[\]]*\))?|【\s?(\d+)(?:†[^【】\n]*)?】)/g

/** A definition such as `[3]: https://…` turns a citation into a link of the model's own. */
const definition = /^ {0,3}\[\d+\]: *<?(?:[a-z]{1,20}:|www\.|[/.#])/i

const RANGE_MAX = 20

const numbersOf = (list: string): ReadonlyArray<number> => {
  const numbers: Array<number> = []
  for (const part of list.split(/[,;]/)) {
    const ends = part.split(/[–-]/).flatMap((end) => end.trim().split(/\s+/))
    const given = ends.filter((end) => end !== "").map(Number)
    const [from, to] = given
    const isRange = given.length === 2 && /[–-]/.test(part) && to! > from! && to! - from! <= RANGE_MAX
    if (isRange) for (let n = from!; n <= to!; n++) numbers.push(n)
    else for (const number of given) numbers.push(number)
  }
  return numbers
}

const tail = /[\d\s,;–-]/

/** Rewrites the citations of a text number by number; a number mapped to `undefined` is removed. */
const rewrite = (text: string, f: (number: number) => number | undefined): string =>
  mapLines(text, (line) => {
    if (definition.test(line)) return undefined
    const stretches: Array<Stretch> = []
    spans(line, stretches)
    let out = ""
    // Whether the text so far ends in a bracket that digits alone would turn into a citation.
    let isOpen = false
    const write = (piece: string): void => {
      let i = piece.length - 1
      while (i >= 0 && tail.test(piece[i]!)) i--
      if (i >= 0) isOpen = piece[i] === "["
      out += piece
    }
    for (const stretch of stretches) {
      if (stretch.isCode) {
        write(stretch.text)
        continue
      }
      let from = 0
      for (const match of stretch.text.matchAll(citation)) {
        const numbers = numbersOf(match[2] ?? match[3] ?? "")
        if (numbers.length === 0) continue
        write(stretch.text.slice(from, match.index))
        from = match.index + match[0].length
        const kept: Array<number> = []
        for (const number of numbers) {
          const becomes = f(number)
          if (becomes !== undefined && !kept.includes(becomes)) kept.push(becomes)
        }
        if (kept.length > 0) write(`${match[1]}${kept.map((number) => `[${number}]`).join("")}`)
        // The rest must not join into something else.
        else if (isOpen) write("?")
        else if (out.endsWith("`") && stretch.text[from] === "`") write(" ")
      }
      write(stretch.text.slice(from))
    }
    // A removal at the beginning of a line must not turn the rest into something else.
    return definition.test(out) ? undefined : fenceOf(out) !== undefined ? `\\${out}` : out
  })

/**
 * A text with only its allowed citations.
 *
 * @since 0.1.0
 * @category models
 */
export interface Resolved {
  readonly text: string
  /** The numbers it cites, each once, in the order of first appearance. */
  readonly cited: ReadonlyArray<number>
  /** The removed numbers in order, with repetitions. */
  readonly removed: ReadonlyArray<number>
}

/**
 * Removes citations of other numbers and link definitions under a number; writes the remaining citations one by one:
 * `[1][2]`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const resolve = (text: string, allowed: ReadonlySet<number>): Resolved => {
  const removed: Array<number> = []
  const resolved = rewrite(text, (number) => {
    if (allowed.has(number)) return number
    removed.push(number)
    return undefined
  })
  return { text: resolved, cited: cited(resolved), removed }
}

/**
 * The numbers a text cites, each once, in the order of first appearance.
 *
 * @since 0.1.0
 * @category getters
 */
export const cited = (text: string): ReadonlyArray<number> => {
  const found = new Set<number>()
  rewrite(text, (number) => {
    found.add(number)
    return number
  })
  return [...found]
}

/**
 * Replaces the numbers a text cites; a number without a replacement is removed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const renumber = (text: string, numbers: ReadonlyMap<number, number>): string =>
  rewrite(text, (number) => numbers.get(number))
