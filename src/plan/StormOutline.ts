/**
 * Reads the outline of an article in any form a model writes: sections, their subsections, and the points of those.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { count } from "../internal/Count.js"
import * as JsonText from "../internal/text/JsonText.js"
import { PlanError, type PlanIssue } from "./PlanError.js"

/**
 * @since 0.1.0
 * @category schemas
 */
export const Subsection = Schema.Struct({ title: Schema.String, points: Schema.Array(Schema.String) }).annotations({
  identifier: "effect-lexigram/strategy/StormOutline/Subsection"
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Subsection extends Schema.Schema.Type<typeof Subsection> {}

/**
 * Three levels: a section, its subsections, and the points of each.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Section = Schema.Struct({ title: Schema.String, subsections: Schema.Array(Subsection) }).annotations({
  identifier: "effect-lexigram/strategy/StormOutline/Section"
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Section extends Schema.Schema.Type<typeof Section> {}

/**
 * `title` is the title of the article, if the outline names one.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StormOutline = Schema.Struct({
  title: Schema.optional(Schema.String),
  sections: Schema.Array(Section)
}).annotations({ identifier: "effect-lexigram/strategy/StormOutline" })
/**
 * @since 0.1.0
 * @category models
 */
export interface StormOutline extends Schema.Schema.Type<typeof StormOutline> {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Bounds {
  /** Maximum number of sections; further ones are omitted; default 8. */
  readonly maxSections?: number | undefined
  /** Maximum number of subsections per section; further ones are omitted; default 6. */
  readonly maxSubsections?: number | undefined
  /** Maximum number of points per subsection; further ones are omitted; default 6. */
  readonly maxPoints?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { maxSections: 8, maxSubsections: 6, maxPoints: 6 } as const

const TITLE_MAX = 120
/** A longer line is not a heading; only this much of a line is read. */
const LINE_MAX = 400

/** Sections that an article with citations has anyway, or that say nothing. */
const reserved = new Set(["sources", "references", "bibliography", "citations", "see also", "external links"])

const strip = (title: string): string =>
  title
    .replace(/\[[\d\s,;–-]*\]|【[^【】]*】|[*`]+|__|~~/g, "")
    .trim()
    .replace(/^\d{1,3}(?:[.)]|(?:\.\d{1,3}){1,5}[.)]?)\s+/, "")
    .replace(/^(?:(?:sub-?){0,2}section|point)(?:\s\d{1,3}(?:\.\d{1,3}){0,2})?\s?:\s?/i, "")
    .replace(/^["'“”‘’#]+|(?<!["'“”‘’:#])["'“”‘’:#]+$/g, "")
    .replace(/\s{2,}/g, " ")
    .trim()

/**
 * A line as a title, without emphasis, numbers, quotes and citations.
 *
 * @since 0.1.0
 * @category conversions
 */
export const titleOf = (raw: string): string => {
  let title = raw.slice(0, LINE_MAX).replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
  for (let before = ""; before !== title; ) {
    before = title
    title = strip(title)
  }
  return title.length <= TITLE_MAX ? title : `${title.slice(0, TITLE_MAX - 1).replace(/[\ud800-\udbff]$/, "")}…`
}

/**
 * The key by which titles are compared: their letters and digits.
 *
 * @since 0.1.0
 * @category conversions
 */
export const keyOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()

type Level = 1 | 2 | 3

interface Draft {
  readonly title: string
  readonly children: Map<string, Draft>
}

/** Collects titles at their level. Repeated titles below the same parent are one. */
const builder = () => {
  const drafts = new Map<string, Draft>()
  /** The section and subsection that the next title belongs to. */
  let section: Draft | undefined
  let subsection: Draft | undefined
  const put = (raw: string, into: Map<string, Draft>): Draft | undefined => {
    const title = titleOf(raw)
    const key = keyOf(title)
    if (key === "") return undefined
    const known = into.get(key)
    if (known !== undefined) return known
    const draft = { title, children: new Map() }
    into.set(key, draft)
    return draft
  }
  const add = (level: Level, raw: string): void => {
    if (level === 1) {
      section = reserved.has(keyOf(titleOf(raw))) ? undefined : put(raw, drafts)
      subsection = undefined
    } else if (section !== undefined) {
      if (level === 2) subsection = put(raw, section.children)
      // A point without a subsection becomes a subsection.
      else put(raw, (subsection ?? section).children)
    }
  }
  return { drafts, add }
}

type Builder = ReturnType<typeof builder>

const finish = (built: Builder, bounds: Bounds, title: string | undefined): StormOutline => {
  const maxSections = Math.max(1, count(bounds.maxSections, defaults.maxSections, 0))
  const maxSubsections = count(bounds.maxSubsections, defaults.maxSubsections, 0)
  const maxPoints = count(bounds.maxPoints, defaults.maxPoints, 0)
  const first = (drafts: ReadonlyMap<string, Draft>, most: number) => Array.from(drafts.values()).slice(0, most)
  const sections = first(built.drafts, maxSections).map((draft) => ({
    title: draft.title,
    subsections: first(draft.children, maxSubsections).map(({ children, title }) => ({
      title,
      points: first(children, maxPoints).map((point) => point.title)
    }))
  }))
  return title === undefined || title === "" ? { sections } : { title, sections }
}

const field = (value: object, names: ReadonlyArray<string>): unknown => {
  for (const name of names) if (Object.hasOwn(value, name)) return (value as Record<string, unknown>)[name]
  return undefined
}

const titleFields = ["title", "section", "subsection", "name", "heading", "point"]
const childFields = ["subsections", "children", "items", "topics", "sections", "points", "subsubsections"]

const deeper = (level: Level): Level => (level === 1 ? 2 : 3)

const fromJson = (value: unknown, into: Builder): string | undefined => {
  const children = (level: Level, given: unknown): void => {
    if (Array.isArray(given)) for (const one of given) child(level, one)
    else if (typeof given === "object" && given !== null) {
      for (const [name, below] of Object.entries(given)) {
        into.add(level, name)
        if (level < 3) children(deeper(level), below)
      }
    }
  }
  const child = (level: Level, one: unknown): void => {
    if (typeof one === "string") into.add(level, one)
    if (typeof one !== "object" || one === null) return
    const title = field(one, titleFields)
    if (typeof title !== "string") return
    into.add(level, title)
    if (level < 3) children(deeper(level), field(one, childFields))
  }
  if (Array.isArray(value)) {
    children(1, value)
    return undefined
  }
  if (typeof value !== "object" || value === null) return undefined
  const inner = field(value, ["outline", "value"])
  if (typeof inner === "object" && inner !== null) return fromJson(inner, into)
  const list = field(value, ["sections", "outline", "children", "items"])
  if (Array.isArray(list)) {
    children(1, list)
    const title = field(value, ["title", "topic"])
    return typeof title === "string" ? titleOf(title) : undefined
  }
  // A map from titles to their content.
  for (const [title, below] of Object.entries(value)) {
    if (!Array.isArray(below) && (typeof below !== "object" || below === null)) continue
    into.add(1, title)
    children(2, below)
  }
  return undefined
}

interface Line {
  readonly kind: "marked" | "heading" | "numbered" | "bullet"
  /** The level of a marker or heading; for a number such as `1.2` the count of its parts. */
  readonly level: number
  readonly indent: number
  readonly text: string
}

const marked =
  /^(?:[-*+] |#{1,6} )?[*_]{0,2}(?:((?:sub-?){0,2})section|(point))(?: \d{1,3}(?:\.\d{1,3}){0,2})?[*_]{0,2} ?: ?(?=\S)/i
const heading = /^(#{1,6})[ \t]+(?=\S)/
const numbered = /^(?:\(?(\d{1,3})[.)]|(\d{1,3}(?:\.\d{1,3}){1,5})[.)]?|[IVXLC]{1,6}[.)])[ \t]+(?=\S)/
const lettered = /^(?:[A-Za-z]|[ivx]{2,5})[.)][ \t]+(?=\S)/
const bullet = /^[-*+•–][ \t]+(?=\S)/

const readLine = (raw: string): Line | undefined => {
  const cut = raw.slice(0, LINE_MAX).replace(/\t/g, "    ")
  const text = cut.trimStart()
  const indent = cut.length - text.length
  let match = marked.exec(text)
  if (match !== null) {
    const level = match[2] === undefined ? 1 + (match[1]?.match(/sub/gi)?.length ?? 0) : 3
    return { kind: "marked", level, indent, text: text.slice(match[0].length) }
  }
  match = heading.exec(text)
  if (match !== null) return { kind: "heading", level: match[1]!.length, indent, text: text.slice(match[0].length) }
  match = numbered.exec(text)
  // A line with a number counts as one even if it is emphasized as a whole.
  const bare = match === null && text.startsWith("**") ? text.slice(2) : text
  match ??= numbered.exec(bare)
  if (match !== null) {
    const level = match[2] === undefined ? 1 : match[2].split(".").length
    return { kind: "numbered", level, indent, text: bare.slice(match[0].length) }
  }
  match = lettered.exec(text) ?? bullet.exec(text)
  if (match !== null) return { kind: "bullet", level: 1, indent, text: text.slice(match[0].length) }
  return undefined
}

const levelOf = (depth: number): Level => (depth <= 1 ? 1 : depth === 2 ? 2 : 3)

const fromMarked = (lines: ReadonlyArray<Line>, into: Builder): undefined => {
  for (const line of lines) if (line.kind === "marked") into.add(levelOf(line.level), line.text)
}

/** The rank of each level among all present, from 1: skipped levels do not count. */
const ranks = (values: ReadonlyArray<number>): ReadonlyMap<number, number> =>
  new Map([...new Set(values)].sort((a, b) => a - b).map((value, at) => [value, at + 1]))

/** A single heading above all others is the title. */
const fromHeadings = (lines: ReadonlyArray<Line>, into: Builder): string | undefined => {
  const headings = lines.filter((line) => line.kind === "heading")
  const top = headings.reduce((least, line) => Math.min(least, line.level), 6)
  const first = headings[0]!
  const alone = first.level === top && headings.length > 1 && headings.every((line, i) => i === 0 || line.level > top)
  const rest = alone ? headings.slice(1) : headings
  const depths = ranks(rest.map(({ level }) => level))
  let depth = 0
  /** Indents of the list below a heading, outermost first. */
  let indents: Array<number> = []
  for (const line of lines) {
    if (alone && line === first) continue
    if (line.kind === "heading") {
      depth = depths.get(line.level) ?? 1
      indents = []
      into.add(levelOf(depth), line.text)
    } else if (depth > 0 && depth < 3) {
      // A list below a heading is one level deeper, and each indentation in the list one more.
      while (indents.length > 0 && indents.at(-1)! > line.indent + 1) indents.pop()
      if (indents.length === 0 || line.indent > indents.at(-1)! + 1) indents.push(line.indent)
      into.add(levelOf(depth + indents.length), line.text)
    }
  }
  return alone ? titleOf(first.text) : undefined
}

/** The depth of a list line follows from its number, if numbers have parts, and its indent. */
const fromList = (lines: ReadonlyArray<Line>, into: Builder): undefined => {
  const isNumbered = lines.some((line) => line.kind === "numbered")
  const tops = lines.filter((line) => !isNumbered || line.kind === "numbered")
  const least = tops.reduce((least, line) => Math.min(least, line.indent), LINE_MAX)
  const level = tops.reduce((least, line) => Math.min(least, line.level), LINE_MAX)
  /** The lines that may be the parent of the next one. */
  const open: Array<{ readonly indent: number; readonly depth: number }> = []
  for (const line of lines) {
    const isTop = (!isNumbered || line.kind === "numbered") && line.level === level && line.indent <= least + 1
    if (isTop) open.length = 0
    while (open.length > 1 && open.at(-1)!.indent > line.indent + 1) open.pop()
    const above = open.at(-1)
    const byNumber = line.kind === "numbered" && line.level > level ? 1 + line.level - level : undefined
    const isBelow = above !== undefined && (line.indent > above.indent + 1 || open.length === 1)
    const depth = isTop || above === undefined ? 1 : (byNumber ?? (isBelow ? above.depth + 1 : above.depth))
    if (isTop || isBelow || byNumber !== undefined) open.push({ indent: line.indent, depth })
    into.add(levelOf(depth), line.text)
  }
}

const failure = (issue: PlanIssue): Either.Either<never, PlanError> =>
  Either.left(
    new PlanError({
      strategyName: "storm",
      issues: [issue],
      message: `The outline is invalid: ${issue.message}`,
      hint: "Write each section as SECTION: <title>, and what it covers as SUBSECTION: <title> and POINT: <title> below it"
    })
  )

/** A list of one line is a sentence with a dash. */
const isOutline = (built: Builder, isList: boolean): boolean => {
  const first = built.drafts.values().next()
  if (first.done === true) return false
  return !isList || built.drafts.size > 1 || first.value.children.size > 0
}

/**
 * Reads an outline from a text: JSON, `SECTION:`, `SUBSECTION:` and `POINT:` lines, Markdown headings, or a numbered or
 * bulleted list. Other text is skipped. Repeated sections are merged, and so are repeated subsections of a section. A
 * text without an outline is a `PlanError`. Takes time linear in the text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parse = (text: string, bounds: Bounds = {}): Either.Either<StormOutline, PlanError> => {
  if (text.trim() === "") return failure({ reason: "empty", message: "it is empty" })
  if (/^\s*(?:```[a-zA-Z]*\s*)?[[{]/.test(text.slice(0, LINE_MAX))) {
    const json = builder()
    const title = Either.match(JsonText.read(text), {
      onLeft: () => undefined,
      onRight: (value) => fromJson(value, json)
    })
    if (isOutline(json, false)) return Either.right(finish(json, bounds, title))
  }
  const lines: Array<Line> = []
  for (const raw of text.split("\n")) {
    const line = readLine(raw)
    if (line !== undefined) lines.push(line)
  }
  const built = builder()
  const kinds = new Set(lines.map((line) => line.kind))
  const isList = !kinds.has("marked") && !kinds.has("heading")
  const title = kinds.has("marked")
    ? fromMarked(lines, built)
    : kinds.has("heading")
      ? fromHeadings(lines, built)
      : fromList(lines, built)
  return isOutline(built, isList)
    ? Either.right(finish(built, bounds, title))
    : failure({ reason: "malformed", message: "no section was found in it" })
}

/**
 * Writes an outline as text that `parse` reads back.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = (outline: StormOutline): string =>
  outline.sections
    .flatMap((section) => [
      `SECTION: ${section.title}`,
      ...section.subsections.flatMap(({ points, title }) => [
        `SUBSECTION: ${title}`,
        ...points.map((point) => `POINT: ${point}`)
      ])
    ])
    .join("\n")

/**
 * A subsection with its points on one line.
 *
 * @since 0.1.0
 * @category conversions
 */
export const subsectionText = ({ points, title }: Subsection): string =>
  points.length === 0 ? title : `${title}: ${points.join(", ")}`
