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

/** Text between two conjunctions, commas or ends of sentences; `lead` is its separator from the previous piece. */
interface Piece {
  readonly lead: Tokens
  readonly tokens: Tokens
}

const maxPieces = 16

const isSeparator = ({ kind, lower, text }: Text.Token): boolean =>
  kind === "mark" ? /[,.;!?]/.test(text) : kind === "word" && /^(?:and|then|also|plus)$/.test(lower)

const piecesOf = (tokens: Tokens): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let lead: Array<Text.Token> = []
  let own: Array<Text.Token> = []
  const close = () => {
    if (own.length > 0) {
      pieces.push({ lead, tokens: own })
      lead = []
      own = []
    }
  }
  for (const token of tokens) {
    if (isSeparator(token)) {
      close()
      lead.push(token)
    } else own.push(token)
  }
  close()
  return pieces.slice(0, maxPieces)
}

const asksFor = /^(?:please|to|i|you|a)$/

/**
 * Stems of the verbs that a piece commands: "Cancel …", "please cancel …", "I want to cancel …", "can I cancel …".
 *
 * @category getters
 */
export const commands = (tokens: Tokens): ReadonlyArray<string> => {
  const first = tokens.findIndex(({ lower }) => Text.isContent(lower) || Tools.isChange(Text.stem(lower)))
  return tokens.flatMap(({ kind, stem }, at) => {
    const previous = tokens[at - 1]?.lower ?? ""
    return kind === "word" && ((at === first && at <= 1) || asksFor.test(previous)) ? [stem] : []
  })
}

const searching =
  /\bdo you (?:have|sell|offer|carry|stock)\b|\bhow much (?:is|are|does)\b|\b(?:find|search|show me|i need|looking for|got any)\b|\bare there any\b|\bis there an?\b|\bcosts?\b/i

/** Rarity of a word among the tools: the inverse of the number of tools with it. */
const rarity = (tools: ReadonlyArray<Tools.Tool>) => {
  const counts = new Map<string, number>()
  for (const { words } of tools) for (const stem of words.keys()) counts.set(stem, (counts.get(stem) ?? 0) + 1)
  return (stem: string): number => 1 / (counts.get(stem) ?? 1)
}

/**
 * The matcher of a set of tools.
 *
 * @category models
 */
export interface Matcher {
  readonly tools: ReadonlyArray<Tools.Tool>
  /** Stems that name the things tools identify: "order" in `order_id`. */
  readonly nouns: ReadonlySet<string>
  readonly rare: (stem: string) => number
}

/**
 * @category constructors
 */
export const matcher = (tools: ReadonlyArray<Tools.Tool>): Matcher => {
  const ids = tools.flatMap(({ parameters }) => parameters.filter(({ topic }) => topic === "id"))
  return { tools, nouns: new Set(ids.flatMap(({ key }) => key)), rare: rarity(tools) }
}

/** Scores tools by the weights of the words they share with a piece. A change that is not commanded scores 0. */
const scorer = (tokens: Tokens, rare: Matcher["rare"]): ((tool: Tools.Tool) => number) => {
  const said = commands(tokens)
  const isSearch = searching.test(tokens.map(({ text }) => text).join(" "))
  const content = tokens.filter(({ kind, lower }) => kind === "word" && Text.isContent(lower))
  const stems = new Set(content.map(({ stem }) => stem))
  return ({ mutates, searches, verbs, words }) => {
    const commanded = said.some((stem) => (mutates ? verbs.includes(stem) : verbs[0] === stem))
    if (mutates && !commanded) return 0
    let score = (commanded ? 2 : 0) + (searches && isSearch ? 1.2 : 0)
    for (const stem of stems) score += (words.get(stem) ?? 0) * rare(stem)
    return score
  }
}

/**
 * Reads the arguments of a tool call from a text.
 *
 * @category constructors
 */
export const fill = (tool: Tools.Tool, tokens: Tokens, nouns: ReadonlySet<string>): Arguments.Filling =>
  Arguments.fill(
    tool.parameters,
    tokens,
    new Set(Array.from(nouns).filter((noun) => !tool.parameters.some(({ key }) => key.includes(noun))))
  )

const threshold = 0.6
const finalists = 5
const maxTokens = 300

/** True if the text itself contains all required arguments. */
const isFilled = ({ parameters }: Tools.Tool, { missing, values }: Arguments.Filling, least: number): boolean => {
  const required = parameters.filter((param) => param.required)
  return (
    missing.length === 0 && required.length > 0 && required.every(({ name }) => (values.get(name)?.score ?? 0) >= least)
  )
}

/** Without a word of a tool, a number or a code selects the only tool that needs just such an id. */
const identified = ({ nouns, tools }: Matcher, tokens: Tokens): Tools.Tool | undefined => {
  if (!tokens.some(({ kind }) => kind === "number" || kind === "code")) return undefined
  const needsId = ({ mutates, parameters }: Tools.Tool): boolean => {
    const required = parameters.filter((param) => param.required)
    return !mutates && required.length === 1 && required[0]!.topic === "id"
  }
  const fitting = tools
    .filter(needsId)
    .slice(0, 20)
    .filter((tool) => isFilled(tool, fill(tool, tokens, nouns), 1))
  const exact = fitting.filter((tool) => isFilled(tool, fill(tool, tokens, nouns), 1.5))
  return fitting.length === 1 ? fitting[0] : exact.length === 1 ? exact[0] : undefined
}

const select = (matcher: Matcher, tokens: Tokens): Tools.Tool | undefined => {
  const { nouns, rare, tools } = matcher
  const scoreOf = scorer(tokens.slice(0, maxTokens), rare)
  const ranked = tools
    .map((tool) => ({ tool, score: scoreOf(tool) }))
    .filter(({ score }) => score >= 0.3)
    .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .slice(0, finalists)
    .map(({ score, tool }) => {
      const filling = fill(tool, tokens, nouns)
      const isNamed = Array.from(filling.values.values()).some((value) => value.score >= 2)
      return { tool, score: score + (isFilled(tool, filling, 0.4) ? 0.5 : 0) + (isNamed ? 0.5 : 0) }
    })
    .sort((a, b) => b.score - a.score)
  const [best] = ranked
  return best !== undefined && best.score >= threshold ? best.tool : identified(matcher, tokens)
}

/** A clause that names a tool, with the clauses that add to it. */
interface Clause {
  readonly tool: Tools.Tool
  tokens: Tokens
}

/**
 * Calls requested by a text, in order. "in Oslo, Bergen and Graz" repeats a call with other values.
 *
 * @category constructors
 */
export const intents = (matcher: Matcher, text: string): ReadonlyArray<Intent> => {
  const clauses: Array<Clause> = []
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
      const repeats = !hasList && isFilled(current.tool, fill(current.tool, tokens, matcher.nouns), 1)
      if (repeats) clauses.push({ tool: current.tool, tokens })
      else current.tokens = [...current.tokens, ...lead, ...tokens]
    }
  }
  return clauses.map(({ tokens, tool }) => {
    const filling = fill(tool, tokens, matcher.nouns)
    return { tool, params: Arguments.toObject(filling.values), missing: filling.missing }
  })
}
