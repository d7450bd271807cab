/**
 * Finds the requested calls: splits a request into clauses and matches their words with those of the tools.
 *
 * @private
 * @since 0.1.0
 */
import * as Arguments from "./OfflineArguments.js"
import * as Text from "./OfflineText.js"
import * as Tools from "./OfflineTools.js"

type Tokens = ReadonlyArray<Text.Token>

/**
 * A requested call, with the arguments known so far.
 *
 * @category models
 */
export interface Intent {
  readonly tool: Tools.Tool
  readonly params: { readonly [key: string]: unknown }
  readonly missing: ReadonlyArray<Tools.Parameter>
}

const maxPieces = 16

const isSeparator = ({ lower }: Text.Token): boolean => /^(?:[,.;!?]|and|then|also|plus)$/.test(lower)

/** Texts between conjunctions, commas and ends of sentences; `lead` is the separator from the previous one. */
const piecesOf = (tokens: Tokens) => {
  const pieces: Array<{ lead: Array<Text.Token>; tokens: Array<Text.Token> }> = [{ lead: [], tokens: [] }]
  for (const token of tokens) {
    const current = pieces.at(-1)!
    if (!isSeparator(token)) current.tokens.push(token)
    else if (current.tokens.length === 0) current.lead.push(token)
    else pieces.push({ lead: [token], tokens: [] })
  }
  return pieces.filter((piece) => piece.tokens.length > 0).slice(0, maxPieces)
}

const asksFor = /^(?:please|to|i|you|a)$/

/** Stems of the verbs that a piece commands: "Cancel …", "please cancel …", "I want to cancel …", "can I cancel …". */
const commands = (tokens: Tokens): ReadonlyArray<string> => {
  const first = tokens.findIndex(({ lower, stem }) => Text.isContent(lower) || Tools.isChange(stem))
  return tokens.flatMap(({ kind, stem }, at) =>
    kind === "word" && ((at === first && at <= 1) || asksFor.test(tokens[at - 1]?.lower ?? "")) ? [stem] : []
  )
}

const searching =
  /\bdo you (?:have|sell|offer|carry|stock)\b|\bhow much (?:is|are|does)\b|\b(?:find|search|show me|i need|looking for|got any)\b|\bare there any\b|\bis there an?\b|\bcosts?\b/i

interface Matcher {
  readonly tools: ReadonlyArray<Tools.Tool>
  /** Stems that name the things tools identify: "order" in `order_id`. */
  readonly nouns: ReadonlySet<string>
  /** Number of tools with a word. */
  readonly counts: ReadonlyMap<string, number>
}

const matcherOf = (tools: ReadonlyArray<Tools.Tool>): Matcher => {
  const counts = new Map<string, number>()
  for (const { words } of tools) for (const stem of words.keys()) counts.set(stem, (counts.get(stem) ?? 0) + 1)
  const ids = tools.flatMap(({ parameters }) => parameters.filter(({ topic }) => topic === "id"))
  return { tools, counts, nouns: new Set(ids.flatMap(({ key }) => key)) }
}

/** Scores tools by the rare words they share with a piece. A change that is not commanded scores 0. */
const scorer = (tokens: Tokens, counts: Matcher["counts"]): ((tool: Tools.Tool) => number) => {
  const said = commands(tokens)
  const isSearch = searching.test(tokens.map(({ text }) => text).join(" "))
  const content = tokens.filter(({ kind, lower }) => kind === "word" && Text.isContent(lower))
  const stems = new Set(content.map(({ stem }) => stem))
  return ({ mutates, searches, verbs, words }) => {
    const commanded = said.some((stem) => (mutates ? verbs.includes(stem) : verbs[0] === stem))
    if (mutates && !commanded) return 0
    let score = (commanded ? 2 : 0) + (searches && isSearch ? 1.2 : 0)
    for (const stem of stems) score += (words.get(stem) ?? 0) / (counts.get(stem) ?? 1)
    return score
  }
}

const fill = (tool: Tools.Tool, tokens: Tokens, nouns: ReadonlySet<string>): Arguments.Filling => {
  const own = new Set(tool.parameters.flatMap(({ key }) => key))
  return Arguments.fill(tool.parameters, tokens, new Set(Array.from(nouns).filter((noun) => !own.has(noun))))
}

const threshold = 0.6
const finalists = 5
const maxTokens = 300

/** Certainty that the text itself contains all required arguments: that of the least certain one, or 0. */
const certainty = ({ parameters }: Tools.Tool, { scores }: Arguments.Filling): number => {
  const least = Math.min(...parameters.filter(({ required }) => required).map(({ name }) => scores.get(name) ?? 0))
  return Number.isFinite(least) ? least : 0
}

/** Without a word of a tool, a number or a code selects the tool that needs just such an id. */
const identified = ({ nouns, tools }: Matcher, tokens: Tokens): Tools.Tool | undefined => {
  const [best, next] = tools
    .filter(({ mutates, parameters }) => !mutates && parameters.filter(({ required }) => required).length === 1)
    .filter(({ parameters }) => parameters.some(({ required, topic }) => required && topic === "id"))
    .slice(0, 20)
    .map((tool) => ({ tool, score: certainty(tool, fill(tool, tokens, nouns)) }))
    .sort((a, b) => b.score - a.score)
  return best !== undefined && best.score >= 1 && best.score > (next?.score ?? 0) ? best.tool : undefined
}

const select = (matcher: Matcher, tokens: Tokens): Tools.Tool | undefined => {
  const scoreOf = scorer(tokens.slice(0, maxTokens), matcher.counts)
  const [best] = matcher.tools
    .map((tool) => ({ tool, score: scoreOf(tool) }))
    .filter(({ score }) => score >= 0.3)
    .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .slice(0, finalists)
    .map(({ score, tool }) => ({
      tool,
      score: score + Math.min(1, certainty(tool, fill(tool, tokens, matcher.nouns)))
    }))
    .sort((a, b) => b.score - a.score)
  return best !== undefined && best.score >= threshold ? best.tool : identified(matcher, tokens)
}

/**
 * The verb of a requested change that no tool makes.
 *
 * @category getters
 */
export const unable = (tools: ReadonlyArray<Tools.Tool>, text: string): string | undefined => {
  const tokens = Text.tokens(text)
  const verbs = commands(tokens).filter((stem) => Tools.isChange(stem) && !tools.some(({ words }) => words.has(stem)))
  return tokens.find(({ stem }) => stem === verbs[0])?.lower
}

/**
 * Calls requested by a text, in order. "in Oslo, Bergen and Graz" repeats a call with other values.
 *
 * @category constructors
 */
export const intents = (tools: ReadonlyArray<Tools.Tool>, text: string): ReadonlyArray<Intent> => {
  const matcher = matcherOf(tools)
  /** Clauses that name a tool, with those that add to them. */
  const clauses: Array<{ readonly tool: Tools.Tool; tokens: Tokens }> = []
  let before: Tokens = []
  for (const { lead, tokens } of piecesOf(Text.tokens(text))) {
    const current = clauses.at(-1)
    const tool = select(matcher, [...before, ...tokens])
    if (tool !== undefined && tool !== current?.tool) {
      clauses.push({ tool, tokens: [...before, ...tokens] })
      before = []
    } else if (current === undefined) before = [...before, ...tokens]
    else {
      const hasList = current.tool.parameters.some(({ shape }) => shape.type === "array")
      const repeats = !hasList && certainty(current.tool, fill(current.tool, tokens, matcher.nouns)) >= 1
      if (repeats) clauses.push({ tool: current.tool, tokens })
      else current.tokens = [...current.tokens, ...lead, ...tokens]
    }
  }
  return clauses.map(({ tokens, tool }) => ({ tool, ...fill(tool, tokens, matcher.nouns) }))
}
