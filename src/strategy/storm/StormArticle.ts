/**
 * The article of STORM: joins sections, numbers citations in the order of appearance, and reads and writes Markdown.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as CitationMarks from "../../document/text/CitationMarks.js"
import * as StormOutline from "../../plan/StormOutline.js"
import type * as StormSources from "./StormSources.js"

const NAME = "effect-lexigram/strategy/StormArticle"

/**
 * The perspective of a writer in a conversation, and what that writer cares about.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Perspective = Schema.Struct({ name: Schema.String, description: Schema.String }).annotations({
  identifier: `${NAME}/Perspective`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Perspective extends Schema.Schema.Type<typeof Perspective> {}

/**
 * A question and its answer. It is grounded if the answer cites a source found for it; `sources` are the cited ones.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Turn = Schema.Struct({
  question: Schema.String,
  queries: Schema.Array(Schema.String),
  answer: Schema.String,
  grounded: Schema.Boolean,
  sources: Schema.Array(Schema.Number)
}).annotations({ identifier: `${NAME}/Turn` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Turn extends Schema.Schema.Type<typeof Turn> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Conversation = Schema.Struct({
  perspective: Perspective,
  turns: Schema.Array(Turn),
  /** Whether the conversation has ended. */
  done: Schema.Boolean
}).annotations({ identifier: `${NAME}/Conversation` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Conversation extends Schema.Schema.Type<typeof Conversation> {}

/**
 * A written section. `sources` are those it was given; `grounded` says whether it cites one of them.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Section = Schema.Struct({
  title: Schema.String,
  text: Schema.String,
  grounded: Schema.Boolean,
  sources: Schema.Array(Schema.Number)
}).annotations({ identifier: `${NAME}/Section` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Section extends Schema.Schema.Type<typeof Section> {}

/**
 * A source with its number in the article; uncited sources come last.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Source = Schema.Struct({
  number: Schema.Number,
  cited: Schema.Boolean,
  title: Schema.String,
  url: Schema.optional(Schema.String),
  text: Schema.String,
  /** The tool that found it. */
  tool: Schema.String
}).annotations({ identifier: `${NAME}/Source` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Source extends Schema.Schema.Type<typeof Source> {}

/**
 * A query that a tool could not answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const FailedQuery = Schema.Struct({
  tool: Schema.String,
  query: Schema.String,
  message: Schema.String
}).annotations({ identifier: `${NAME}/FailedQuery` })
/**
 * @since 0.1.0
 * @category models
 */
export interface FailedQuery extends Schema.Schema.Type<typeof FailedQuery> {}

/**
 * The result of a STORM run. `text` is the whole article as Markdown, with a list of sources at the end. All source
 * numbers, including those of the conversations, refer to `sources`. It is `grounded` if every section is.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Article = Schema.Struct({
  title: Schema.String,
  lead: Schema.String,
  sections: Schema.Array(Section),
  sources: Schema.Array(Source),
  conversations: Schema.Array(Conversation),
  failedQueries: Schema.Array(FailedQuery),
  /** The number of dangling citations that were removed. */
  removedCitations: Schema.Number,
  grounded: Schema.Boolean,
  text: Schema.String
}).annotations({ identifier: `${NAME}/Article` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Article extends Schema.Schema.Type<typeof Article> {}

/**
 * The text of a section without sources.
 *
 * @since 0.1.0
 * @category constants
 */
export const NO_SOURCES = "*No sources were found for this section.*"

/**
 * The text of a section whose text did not cite its sources.
 *
 * @since 0.1.0
 * @category constants
 */
export const NOT_BACKED = "*Nothing could be written for this section that its sources back.*"

/**
 * The first line of a section written without sources.
 *
 * @since 0.1.0
 * @category constants
 */
export const UNGROUNDED = "*Written without sources.*"

const heading = /^ {0,3}(#{1,6})[ \t]+(.*)/s

const headingOf = (line: string): { readonly level: number; readonly title: string } | undefined => {
  if (line.length > 400) return undefined
  const match = heading.exec(line)
  return match === null ? undefined : { level: match[1]!.length, title: match[2]!.replace(/(?<![ \t#])[ \t#]+$/, "") }
}

/**
 * The text of a section without a heading of its own title, and with other headings below the level of sections.
 *
 * @since 0.1.0
 * @category conversions
 */
export const body = (text: string, title: string): string => {
  let isFirst = true
  return CitationMarks.mapLines(text.replace(/\r\n?/g, "\n").trim(), (line) => {
    const found = headingOf(line)
    const opens = isFirst
    if (line.trim() !== "") isFirst = false
    if (found === undefined) return line
    if (opens && StormOutline.keyOf(found.title) === StormOutline.keyOf(title)) return undefined
    return `${"#".repeat(Math.max(3, found.level))} ${found.title}`
  }).trim()
}

/**
 * Writes sections as Markdown, after the text before them.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = (
  lead: string,
  sections: ReadonlyArray<{ readonly title: string; readonly text: string }>
): string =>
  [...(lead === "" ? [] : [lead]), ...sections.map(({ text, title }) => `## ${title}\n\n${text}`)].join("\n\n")

/**
 * Splits Markdown at the headings of these titles: the text before the first one, without the article's own title, and
 * the text of each section present.
 *
 * @since 0.1.0
 * @category conversions
 */
export const split = (
  text: string,
  title: string,
  titles: ReadonlyArray<string>
): { readonly lead: string; readonly texts: ReadonlyMap<string, string>; readonly last: string | undefined } => {
  const known = new Set(titles.map(StormOutline.keyOf))
  const parts = new Map<string, Array<string>>()
  let lead: Array<string> = []
  let current: Array<string> | undefined = lead
  let last: string | undefined
  for (const { isFenced, line } of CitationMarks.linesOf(text.replace(/\r\n?/g, "\n"))) {
    const found = isFenced ? undefined : headingOf(line)
    if (found === undefined || found.level > 2) {
      current?.push(line)
      continue
    }
    const key = StormOutline.keyOf(found.title)
    if (known.has(key) && !parts.has(key)) {
      current = []
      last = key
      parts.set(key, current)
    } else if (parts.size === 0 && key === StormOutline.keyOf(title)) {
      lead = []
      current = lead
    } else {
      // A section that was not asked for, or a repeated one.
      current = undefined
      last = undefined
    }
  }
  const texts = new Map([...parts].map(([key, lines]) => [key, lines.join("\n").trim()] as const))
  return { lead: lead.join("\n").trim(), texts, last }
}

/**
 * The parts of an article in order: the lead, then the sections. `allowed` are the source numbers a part may cite.
 *
 * @since 0.1.0
 * @category models
 */
export interface Part {
  readonly text: string
  readonly allowed: ReadonlySet<number>
}

/**
 * Takes each polished part whose citations hold and keeps the others unchanged: no source cited by the article is lost,
 * no part cites a source it was not given, and a part with citations keeps some. `undefined` is a part that did not
 * come back.
 *
 * @since 0.1.0
 * @category combinators
 */
export const accept = (
  parts: ReadonlyArray<Part>,
  polished: ReadonlyArray<string | undefined>
): { readonly texts: ReadonlyArray<string>; readonly kept: number; readonly removed: ReadonlyArray<number> } => {
  const before = parts.map((part) => new Set(CitationMarks.cited(part.text)))
  const after = parts.map((part, i) => {
    const text = polished[i]
    return text === undefined || text === "" ? undefined : CitationMarks.resolve(text, part.allowed)
  })
  const taken = after.map((one, i) => one !== undefined && (one.cited.length > 0 || before[i]!.size === 0))
  // Each round restores at least one part, and with all parts restored nothing is lost.
  for (;;) {
    const now = new Set(parts.flatMap((_, i) => (taken[i] ? after[i]!.cited : [...before[i]!])))
    const back = parts.flatMap((_, i) => (taken[i] && [...before[i]!].some((number) => !now.has(number)) ? [i] : []))
    if (back.length === 0) break
    for (const i of back) taken[i] = false
  }
  return {
    texts: parts.map((part, i) => (taken[i] ? after[i]!.text : part.text)),
    kept: taken.filter((one) => !one).length,
    removed: after.flatMap((one, i) => (taken[i] ? one!.removed : []))
  }
}

const escaped = (text: string): string => text.replace(/[\\[\]<>*_`]/g, "\\$&")

const EXCERPT_MAX = 80

const sourceLine = ({ number, text, title, tool, url }: Source): string => {
  const name = escaped(title)
  if (url === undefined) {
    const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim()
    const excerpt = line.length <= EXCERPT_MAX ? line : `${line.slice(0, EXCERPT_MAX).replace(/[\ud800-\udbff]$/, "")}…`
    return `- [${number}] ${name === "" ? escaped(excerpt) : name} (${escaped(tool)})`
  }
  const address = url.replace(/[()<>\s]/g, (char) => encodeURIComponent(char).replace("(", "%28").replace(")", "%29"))
  return `- [${number}] [${name === "" ? escaped(url) : name}](${address})`
}

/**
 * Makes the article: citations are numbered from 1 in the order of appearance, and listed at the end.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (given: {
  readonly title: string
  readonly lead: string
  readonly sections: ReadonlyArray<Section>
  readonly sources: ReadonlyArray<StormSources.Source>
  readonly conversations: ReadonlyArray<Conversation>
  readonly failedQueries: ReadonlyArray<FailedQuery>
  readonly removedCitations: number
}): Article => {
  const cited = CitationMarks.cited(render(given.lead, given.sections))
  const numbers = new Map<number, number>(cited.map((id, i) => [id, i + 1]))
  for (const { id } of given.sources) if (!numbers.has(id)) numbers.set(id, numbers.size + 1)
  const renumbered = (text: string): string => CitationMarks.renumber(text, numbers)
  const numbered = (ids: ReadonlyArray<number>): ReadonlyArray<number> => ids.flatMap((id) => numbers.get(id) ?? [])
  const sources = given.sources
    .map(
      ({ id, text, title, tool, url }): Source => ({
        number: numbers.get(id) as number,
        cited: (numbers.get(id) as number) <= cited.length,
        title,
        ...(url === undefined ? {} : { url }),
        text,
        tool
      })
    )
    .sort((a, b) => a.number - b.number)
  const lead = renumbered(given.lead)
  const sections = given.sections.map((section) => ({
    ...section,
    text: renumbered(section.text),
    sources: numbered(section.sources)
  }))
  const list = sources.filter((source) => source.cited).map(sourceLine)
  const text = [
    `# ${given.title}`,
    render(lead, sections),
    ...(list.length === 0 ? [] : [`## Sources\n\n${list.join("\n")}`])
  ].join("\n\n")
  return {
    title: given.title,
    lead,
    sections,
    sources,
    conversations: given.conversations.map((conversation) => ({
      ...conversation,
      turns: conversation.turns.map((turn) => ({
        ...turn,
        answer: renumbered(turn.answer),
        sources: numbered(turn.sources)
      }))
    })),
    failedQueries: given.failedQueries,
    removedCitations: given.removedCitations,
    grounded: sections.every((section) => section.grounded),
    text
  }
}
