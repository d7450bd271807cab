/**
 * Texts that a regular expression matches: one for every way through its alternatives. A group that may be absent is
 * once absent and once there; a loop is run once.
 */
import { type AST, RegExpParser } from "@eslint-community/regexpp"

const product = (parts: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  parts.reduce<ReadonlyArray<string>>((texts, part) => texts.flatMap((text) => part.map((next) => text + next)), [""])

/** Every character that a class names, a range by its ends; a space or a letter of one that names what it excludes. */
const membersOf = (element: AST.CharacterClass | AST.CharacterSet, flags: string): ReadonlyArray<string> => {
  const named =
    element.type === "CharacterClass" && !element.negate
      ? element.elements.flatMap((one) =>
          one.type === "Character"
            ? [String.fromCodePoint(one.value)]
            : one.type === "CharacterClassRange"
              ? [String.fromCodePoint(one.min.value), String.fromCodePoint(one.max.value)]
              : []
        )
      : []
  if (named.length > 0) return named
  const one = [" ", "x", "0"].find((char) => new RegExp(`^${element.raw}$`, flags).test(char))
  if (one === undefined) throw new Error(`No member of ${element.raw} is known`)
  return [one]
}

const phrasesOf = (element: AST.Element, flags: string): ReadonlyArray<string> => {
  switch (element.type) {
    case "Character":
      return [String.fromCodePoint(element.value)]
    case "CharacterSet":
    case "CharacterClass":
      return membersOf(element, flags)
    case "Group":
    case "CapturingGroup":
      return among(element.alternatives, flags)
    case "Quantifier": {
      const { element: repeated, min } = element
      const phrases = phrasesOf(repeated, flags)
      const isGap = repeated.type === "CharacterClass" || repeated.type === "CharacterSet"
      return min === 0 && !isGap ? ["", ...phrases] : phrases.map((phrase) => phrase.repeat(Math.max(1, min)))
    }
    case "Assertion":
      return [""]
    default:
      throw new Error(`${element.type} is not expected`)
  }
}

const among = (alternatives: ReadonlyArray<AST.Alternative>, flags: string): ReadonlyArray<string> =>
  alternatives.flatMap(({ elements }) => product(elements.map((element) => phrasesOf(element, flags))))

/** All of them match the expression, unless what surrounds an assertion forbids it. */
export const of = ({ flags, source }: RegExp): ReadonlyArray<string> => {
  const { alternatives } = new RegExpParser().parsePattern(source, undefined, undefined, {
    unicode: flags.includes("u")
  })
  return among(alternatives, flags)
}
