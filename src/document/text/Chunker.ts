/**
 * Cuts a text into chunks at headings, blocks and sentences, within a bound of tokens. Chunks of one section overlap by
 * whole sentences. Fenced code and tables stay whole where they fit.
 *
 * @since 0.1.0
 */
import * as Count from "../../internal/Count.js"
import { approximateCount } from "../../llm/model/ApproximateTokens.js"
import * as MarkdownBlocks from "./MarkdownBlocks.js"
import * as Sentences from "./Sentences.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Tokens of a chunk at most, counted block by block. Default 320, at least 16. */
  readonly maxTokens?: number | undefined
  /**
   * Tokens that a chunk repeats of the one before it in its section, at most. Default 48, at most half of `maxTokens`.
   */
  readonly overlapTokens?: number | undefined
  /** Counts tokens; linear in the text. Default: an approximation for any model. */
  readonly count?: ((text: string) => number) | undefined
}

/**
 * A piece of a text: exactly its characters from `start` to `end`, in UTF-16 units.
 *
 * @since 0.1.0
 * @category models
 */
export interface Chunk {
  readonly start: number
  readonly end: number
  readonly text: string
  /** The headings above it, the outermost first; its own section comes last. */
  readonly headings: ReadonlyArray<string>
  readonly tokens: number
}

/**
 * How the blocks of a text are found.
 *
 * @since 0.1.0
 * @category models
 */
export type Syntax = "markdown" | "plain"

interface Unit {
  readonly kind: MarkdownBlocks.Kind
  readonly start: number
  readonly end: number
  readonly tokens: number
}

interface Section {
  readonly headings: ReadonlyArray<string>
  readonly blocks: Array<MarkdownBlocks.Block>
}

interface Settings {
  readonly text: string
  readonly maxTokens: number
  readonly overlapTokens: number
  readonly count: (text: string) => number
}

/** Characters of white space that a chunk may contain in one run between its blocks. */
const MAX_GAP = 200

/** The blocks by section. Headings without a text below them begin the next section. */
const sectionsOf = (blocks: ReadonlyArray<MarkdownBlocks.Block>): ReadonlyArray<Section> => {
  const sections: Array<Section> = []
  const path: Array<{ readonly level: number; readonly title: string }> = []
  let waiting: Array<MarkdownBlocks.Block> = []
  let current: Section = { headings: [], blocks: [] }
  for (const block of blocks) {
    if (block.kind === "heading") {
      const level = block.level ?? 1
      while (path.length > 0 && path[path.length - 1]!.level >= level) path.pop()
      path.push({ level, title: block.title ?? "" })
      waiting.push(block)
      continue
    }
    if (waiting.length > 0) {
      if (current.blocks.length > 0) sections.push(current)
      current = { headings: path.map(({ title }) => title).filter((title) => title !== ""), blocks: waiting }
      waiting = []
    }
    current.blocks.push(block)
  }
  if (current.blocks.length > 0) sections.push(current)
  if (waiting.length > 0) sections.push({ headings: path.map(({ title }) => title), blocks: waiting })
  return sections
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

const isSpaceAt = (text: string, at: number): boolean => /\s/.test(text.charAt(at))

/** The place after the last white space of a stretch, if it has any in its second half; never within a pair. */
const breakIn = (text: string, from: number, to: number): number => {
  const least = from + Math.floor((to - from) / 2)
  for (let at = to; at > least; at--) if (isSpaceAt(text, at - 1)) return at
  return to - from > 1 && isHigh(text.charCodeAt(to - 1)) ? to - 1 : to
}

/** Cuts a stretch that has no better places into pieces within the limit. */
const pieces = ({ count, text }: Settings, kind: MarkdownBlocks.Kind, from: number, to: number, limit: number) => {
  const units: Array<Unit> = []
  for (let start = from; start < to; ) {
    let end = Math.min(to, start + limit * 4)
    let tokens = count(text.slice(start, end))
    while (tokens > limit && end - start > 2) {
      end = breakIn(text, start, start + Math.max(2, Math.floor(((end - start) * limit * 0.9) / tokens)))
      tokens = count(text.slice(start, end))
    }
    if (end < to) {
      const whole = breakIn(text, start, end)
      if (whole < end) {
        end = whole
        tokens = count(text.slice(start, end))
      }
    }
    units.push({ kind, start, end, tokens })
    start = end
  }
  return units
}

/** The places at which a block is cut if it is too large: sentences, or lines of code and of tables. */
const cutsOf = (text: string, { end, kind, start }: MarkdownBlocks.Block): ReadonlyArray<number> => {
  if (kind === "prose" || kind === "heading") return Sentences.starts(text, start, end)
  const cuts = [start]
  for (let at = text.indexOf("\n", start) + 1; at > 0 && at < end; at = text.indexOf("\n", at) + 1) cuts.push(at)
  return cuts
}

/** The block as one unit, or as several within the limit. */
const unitsOf = (settings: Settings, block: MarkdownBlocks.Block, limit: number): ReadonlyArray<Unit> => {
  const { count, text } = settings
  const { end, kind, start } = block
  const whole = count(text.slice(start, end))
  if (whole <= limit) return [{ kind, start, end, tokens: whole }]
  const cuts = cutsOf(text, block)
  return cuts.flatMap((from, at) => {
    const to = cuts[at + 1] ?? end
    const tokens = count(text.slice(from, to))
    return tokens <= limit ? [{ kind, start: from, end: to, tokens }] : pieces(settings, kind, from, to, limit)
  })
}

/** Where the sentences at the end of a unit begin that fit into the overlap; the end if none does. */
const overlapFrom = ({ count, overlapTokens, text }: Settings, { end, kind, start }: Unit) => {
  if (kind !== "prose" || overlapTokens === 0) return { start: end, tokens: 0 }
  const cuts = Sentences.starts(text, start, end)
  let from = end
  let total = 0
  for (let at = cuts.length - 1; at >= 0; at--) {
    const cut = cuts[at] as number
    const tokens = total + count(text.slice(cut, from))
    if (tokens > overlapTokens) break
    total = tokens
    from = cut
  }
  return { start: from, tokens: total }
}

const trimmed = (text: string, from: number, to: number): readonly [start: number, end: number] => {
  let start = from
  let end = to
  while (start < end && isSpaceAt(text, start)) start++
  while (end > start && isSpaceAt(text, end - 1)) end--
  return [start, end]
}

/** Fills chunks with the units of one section. */
const pack = (settings: Settings, { blocks, headings }: Section, into: Array<Chunk>): void => {
  const { count, maxTokens, text } = settings
  let start = -1
  let end = -1
  let tokens = 0
  const flush = (): void => {
    const [from, to] = start < 0 ? [0, 0] : trimmed(text, start, end)
    if (to > from) into.push({ start: from, end: to, text: text.slice(from, to), headings, tokens })
    start = -1
    tokens = 0
  }
  let last: Unit | undefined
  let opening = 0
  for (const block of blocks) {
    // What follows a heading fits beside it, so that no heading is alone.
    const limit = Math.max(Math.ceil(maxTokens / 2), maxTokens - opening - 2)
    opening =
      block.kind === "heading" ? opening + count(text.slice(block.start, Math.min(block.end, block.start + 400))) : 0
    for (const unit of unitsOf(settings, block, limit)) {
      const isFar = start >= 0 && unit.start - end > MAX_GAP
      // A word that was cut may count more than its parts.
      const isCut = start >= 0 && unit.start === end && !isSpaceAt(text, end - 1)
      const gap =
        start < 0 || isFar
          ? 0
          : isCut
            ? count(text.slice(start, unit.end)) - tokens - unit.tokens
            : count(text.slice(end, unit.start))
      if (isFar || (start >= 0 && tokens + gap + unit.tokens > maxTokens)) {
        flush()
        const kept = last === undefined || isFar || isCut ? undefined : overlapFrom(settings, last)
        const between = kept === undefined ? 0 : count(text.slice(end, unit.start))
        if (kept !== undefined && kept.tokens > 0 && kept.tokens + between + unit.tokens <= maxTokens) {
          start = kept.start
          tokens = kept.tokens + between
        }
      } else tokens += gap
      if (start < 0) start = unit.start
      end = unit.end
      tokens += unit.tokens
      last = unit
    }
  }
  flush()
}

/**
 * The chunks in the order of the text. Together they have all of its characters except white space. Linear time for any
 * text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const chunks = (text: string, syntax: Syntax, options: Options = {}): ReadonlyArray<Chunk> => {
  const maxTokens = Math.min(Count.count(options.maxTokens, 320, 16), 100_000)
  const settings: Settings = {
    text,
    maxTokens,
    overlapTokens: Math.min(Count.count(options.overlapTokens, 48, 0), Math.floor(maxTokens / 2)),
    count: options.count ?? approximateCount
  }
  const found: Array<Chunk> = []
  const blocks = syntax === "markdown" ? MarkdownBlocks.markdown(text) : MarkdownBlocks.plain(text)
  for (const section of sectionsOf(blocks)) pack(settings, section, found)
  return found
}
