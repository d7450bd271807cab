/**
 * Generates hostile texts from a regular expression: its own characters and words, repeated, after a valid prefix and
 * before an unexpected suffix.
 */
import type { AST } from "@eslint-community/regexpp"
import { RegExpParser } from "@eslint-community/regexpp"

/** A text of a given length: `head`, then `pump` repeated, then `tail`. */
export interface Attack {
  readonly head: string
  readonly pump: string
  readonly tail: string
}

export const textOf = ({ head, pump, tail }: Attack, length: number): string =>
  head + pump.repeat(Math.ceil(length / pump.length)).slice(0, length) + tail

/** Representative characters of the classes. */
const samples = [..." \n\ta1A_-.:/#*=\"'([{<@,;|~`$\\%&!?é你١\u200b"]

const unique = (texts: Iterable<string>): Array<string> => Array.from(new Set(texts))

const charsOf = (pattern: string, flags: string, node: AST.Node): ReadonlyArray<string> => {
  switch (node.type) {
    case "Character":
      return [String.fromCodePoint(node.value)]
    case "CharacterClass":
    case "CharacterSet":
    case "ExpressionCharacterClass": {
      const one = new RegExp(`^${pattern.slice(node.start, node.end)}$`, flags.replace(/[gym]/g, ""))
      const own =
        node.type === "CharacterClass" && !node.negate
          ? node.elements.flatMap((element) =>
              element.type === "Character"
                ? [String.fromCodePoint(element.value)]
                : element.type === "CharacterClassRange"
                  ? [String.fromCodePoint(element.min.value)]
                  : []
            )
          : []
      return unique([...own.slice(0, 12), ...samples]).filter((char) => one.test(char))
    }
    default:
      return []
  }
}

/** Shortest text of a part, or with `more` one that enters its repetitions and choices. */
const sampleOf = (pattern: string, flags: string, node: AST.Node, more: number): string => {
  switch (node.type) {
    case "Alternative":
      return node.elements.map((element) => sampleOf(pattern, flags, element, more)).join("")
    case "Pattern":
    case "Group":
    case "CapturingGroup":
      return sampleOf(pattern, flags, node.alternatives[more % node.alternatives.length]!, more)
    case "Quantifier": {
      const times = Math.max(node.min, Math.min(more === 0 ? 0 : 2, node.max))
      return sampleOf(pattern, flags, node.element, more).repeat(Math.min(times, 500))
    }
    default: {
      const chars = charsOf(pattern, flags, node)
      return chars.length === 0 ? "" : chars[more % chars.length]!
    }
  }
}

/** True if a part accepts any number of characters. */
const isOpen = (node: AST.Node): boolean => {
  if (node.type === "Quantifier") return node.max > 20 || isOpen(node.element)
  if ("alternatives" in node) return node.alternatives.some(isOpen)
  return node.type === "Alternative" && node.elements.some(isOpen)
}

const partsOf = (node: AST.Node): ReadonlyArray<AST.Node> =>
  "alternatives" in node
    ? node.alternatives
    : node.type === "Alternative"
      ? node.elements
      : node.type === "Quantifier"
        ? [node.element]
        : []

const depths = [0, 1, 2] as const

/** Characters and words of an expression, and each of its loops with a valid prefix. */
const collect = (pattern: string, flags: string, root: AST.Pattern) => {
  const chars = new Set<string>()
  const words = new Set<string>()
  const loops: Array<{ readonly head: string; readonly pumps: ReadonlyArray<string> }> = []
  const sample = (node: AST.Node, more: number): string => sampleOf(pattern, flags, node, more)
  const charsIn = (node: AST.Node): ReadonlyArray<string> =>
    unique([...charsOf(pattern, flags, node).slice(0, 10), ...partsOf(node).flatMap(charsIn)])
  const visit = (node: AST.Node, heads: ReadonlyArray<string>): void => {
    for (const char of charsOf(pattern, flags, node).slice(0, 10)) chars.add(char)
    if (node.type === "Quantifier") {
      const bodies = depths.map((more) => sample(node.element, more))
      for (const body of bodies) words.add(body)
      if (isOpen(node)) {
        const pumps = unique([...charsIn(node.element).slice(0, 12), ...bodies]).filter((pump) => pump !== "")
        for (const head of heads) loops.push({ head, pumps })
      }
    }
    if (node.type === "Alternative") {
      let before = heads
      for (const element of node.elements) {
        visit(element, before)
        before = before.map((head, more) => head + sample(element, more))
      }
      for (const more of depths) words.add(sample(node, more))
      for (const head of before) words.add(head)
    } else for (const part of partsOf(node)) visit(part, heads)
  }
  visit(
    root,
    depths.map(() => "")
  )
  words.delete("")
  return { chars: [...chars], words: [...words], loops }
}

const endings = ["", "\u0000", "\n", "!x"]

/** At most `most` attacks: loops after their prefixes, then repeated words and pairs of characters. */
export const of = (source: string, flags: string, most = 600): ReadonlyArray<Attack> => {
  const root = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes("u"),
    unicodeSets: flags.includes("v")
  })
  const { chars, loops, words } = collect(source, flags, root)
  const found = new Map<string, Attack>()
  const add = (head: string, pump: string, tail: string): void => {
    if (pump.length <= 600 && head.length <= 600) found.set(JSON.stringify([head, pump, tail]), { head, pump, tail })
  }
  for (const char of chars) for (const tail of endings) add("", char, tail)
  for (const { head, pumps } of loops) {
    for (const pump of pumps) {
      add(head, pump, "\u0000")
      add("", head + pump, "\u0000")
    }
  }
  for (const word of words) for (const end of ["", " ", "\n"]) add("", word + end, "\u0000")
  for (const one of chars.slice(0, 12)) for (const other of chars.slice(0, 12)) add("", one + other, "\u0000")
  for (const word of words) for (const char of chars.slice(0, 6)) add("", word + char, "\u0000")
  return Array.from(found.values()).slice(0, most)
}
