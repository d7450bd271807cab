/**
 * Finds where a plan ends and the work on it begins, and reads plans written as prose.
 *
 * @private
 * @since 0.1.0
 */

/** Maximum characters of a line that decide what it is. */
const HEAD = 240

// Lines after which the work begins: "Calculations:", "Let's carry out the plan", "## Solution".
const work =
  /^(?:(?:now|next|okay|ok|so|then)[,:]?[ \t]{1,4})?(?:(?:the |my |our )?(?:calculations?|computations?|solution|solving|execution|work|working|step-by-step solution|carrying out the plan|executing the plan)[*_`]{0,3}[ \t]{0,4}(?:[:：.]|[*_`]{0,3}$)|(?:let(?:'|’)s|let us|we(?:'|’)ll|we will|we can|i(?:'|’)ll|i will)[ \t]{1,4}(?:now[ \t]{1,4})?(?:carry(?:ing)?[ \t]{1,4}out|execute|follow|implement|work through|go through|solve (?:the|this) problem|start (?:by )?(?:carrying|executing|solving))|(?:let(?:'|’)s|let us)[ \t]{1,4}(?:now[ \t]{1,4})?(?:calculate|compute|do the (?:math|calculations?))\b|(?:carry out|execute) (?:the|this|our|my) plan\b)/i

/**
 * Whether a line, without heading and emphasis, announces the work.
 *
 * @category guards
 */
export const beginsWork = (line: string): boolean => work.test(line.slice(0, HEAD))

const facts =
  /\b(?:given|known|facts?|data|inputs?|requirements?|constraints?|assumptions?|conditions?|tools?|variables?|information|ingredients|options|notes?)\b[^.!?]{0,80}[:：][*_`]{0,3}$/i

/**
 * Whether a line announces a list of facts instead of a plan: `Given:`, `We know the following facts:`.
 *
 * @category guards
 */
export const announcesFacts = (line: string): boolean => line.length <= HEAD && facts.test(line)

// A full stop after one of these does not end a sentence.
const abbreviated = /(?:^|[\s(])(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|no|dr|mr|mrs|ms|st|fig|eq|approx|resp)$/i

/**
 * The sentences of a text, line by line. Linear in the text.
 *
 * @category conversions
 */
export const sentences = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const line of text.split("\n")) {
    let from = 0
    for (const match of line.matchAll(/[.!?]["')\]”’]{0,2}(?=\s|$)|[。！？]/g)) {
      if (match[0] === "." && abbreviated.test(line.slice(Math.max(from, match.index - 12), match.index))) continue
      const end = match.index + match[0].length
      found.push(line.slice(from, end).trim())
      from = end
    }
    found.push(line.slice(from).trim())
  }
  return found.filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
}
