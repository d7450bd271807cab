/**
 * The outline of an article: sections and what each covers. Read from whatever form a model writes one in.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { count } from "../internal/Count.js"
import * as JsonText from "../internal/JsonText.js"
import { PlanError, type PlanIssue } from "./PlanError.js"

/**
 * @since 0.1.0
 * @category schemas
 */
export const Section = Schema.Struct({ title: Schema.String, subsections: Schema.Array(Schema.String) }).annotations({
  identifier: "effect-lexigram/strategy/StormOutline/Section"
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Section extends Schema.Schema.Type<typeof Section> {}

/**
 * `title` is that of the article, where the outline names one.
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
  /** Sections beyond are left out; default 8. */
  readonly maxSections?: number | undefined
  /** Subsections of one section beyond are left out; default 6. */
  readonly maxSubsections?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { maxSections: 8, maxSubsections: 6 } as const

const TITLE_MAX = 120
/** A longer line is no heading; what stands behind is not looked at. */
const LINE_MAX = 400

/** Sections that an article with citations has of itself, or that say nothing. */
const reserved = new Set(["sources", "references", "bibliography", "citations", "see also", "external links"])

const strip = (title: string): string =>
  title
    .replace(/\[[\d\s,;–-]*\]|【[^【】]*】|[*`]+|__|~~/g, "")
    .trim()
    .replace(/^\d{1,3}(?:[.)]|(?:\.\d{1,3}){1,5}[.)]?)\s+/, "")
    .replace(/^(?:sub)?section(?:\s\d{1,3}(?:\.\d{1,3})?)?\s?:\s?/i, "")
    .replace(/^["'“”‘’#]+|(?<!["'“”‘’:#])["'“”‘’:#]+$/g, "")
    .replace(/\s{2,}/g, " ")
    .trim()

/**
 * A line as a title: emphasis, numbers, quotes and citations are no part of it.
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
 * How titles are compared: their letters and digits.
 *
 * @since 0.1.0
 * @category conversions
 */
export const keyOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()

interface Draft {
  readonly title: string
  readonly subsections: Map<string, string>
}

/** Collects what a reader finds; a section named twice is one. */
const builder = () => {
  const drafts = new Map<string, Draft>()
  let current: Draft | undefined
  const section = (raw: string): void => {
    const title = titleOf(raw)
    const key = keyOf(title)
    current = undefined
    if (key === "" || reserved.has(key)) return
    current = drafts.get(key)
    if (current === undefined) {
      current = { title, subsections: new Map() }
      drafts.set(key, current)
    }
  }
  const subsection = (raw: string): void => {
    const title = titleOf(raw)
    const key = keyOf(title)
    if (current !== undefined && key !== "" && !current.subsections.has(key)) current.subsections.set(key, title)
  }
  return { drafts, section, subsection }
}

type Builder = ReturnType<typeof builder>

const finish = (built: Builder, bounds: Bounds, title: string | undefined): StormOutline => {
  const maxSections = Math.max(1, count(bounds.maxSections, defaults.maxSections, 0))
  const maxSubsections = count(bounds.maxSubsections, defaults.maxSubsections, 0)
  const sections: Array<Section> = []
  for (const draft of built.drafts.values()) {
    if (sections.length >= maxSections) break
    sections.push({ title: draft.title, subsections: Array.from(draft.subsections.values()).slice(0, maxSubsections) })
  }
  return title === undefined || title === "" ? { sections } : { title, sections }
}

const field = (value: object, names: ReadonlyArray<string>): unknown => {
  for (const name of names) if (Object.hasOwn(value, name)) return (value as Record<string, unknown>)[name]
  return undefined
}

const titleFields = ["title", "section", "subsection", "name", "heading"]
const childFields = ["subsections", "children", "items", "topics", "sections"]

const fromJson = (value: unknown, into: Builder): string | undefined => {
  const child = (one: unknown): void => {
    const title = typeof one === "object" && one !== null ? field(one, titleFields) : one
    if (typeof title === "string") into.subsection(title)
  }
  const children = (given: unknown): void => {
    if (Array.isArray(given)) for (const one of given) child(one)
    else if (typeof given === "object" && given !== null) for (const name of Object.keys(given)) into.subsection(name)
  }
  const sections = (list: ReadonlyArray<unknown>): void => {
    for (const one of list) {
      if (typeof one === "string") into.section(one)
      else if (typeof one === "object" && one !== null) {
        const title = field(one, titleFields)
        if (typeof title !== "string") continue
        into.section(title)
        children(field(one, childFields))
      }
    }
  }
  if (Array.isArray(value)) {
    sections(value)
    return undefined
  }
  if (typeof value !== "object" || value === null) return undefined
  const inner = field(value, ["outline", "value"])
  if (typeof inner === "object" && inner !== null) return fromJson(inner, into)
  const list = field(value, ["sections", "outline", "children", "items"])
  if (Array.isArray(list)) {
    sections(list)
    const title = field(value, ["title", "topic"])
    return typeof title === "string" ? titleOf(title) : undefined
  }
  // A map of titles to what stands below them.
  for (const [title, below] of Object.entries(value)) {
    if (!Array.isArray(below) && (typeof below !== "object" || below === null)) continue
    into.section(title)
    children(below)
  }
  return undefined
}

interface Line {
  readonly kind: "section" | "subsection" | "heading" | "numbered" | "bullet"
  /** Of a heading its level, of a number like `1.2` how many parts it has. */
  readonly level: number
  readonly indent: number
  readonly text: string
}

const marked = /^(?:[-*+] |#{1,6} )?[*_]{0,2}(sub)?section(?: \d{1,3}(?:\.\d{1,3})?)?[*_]{0,2} ?: ?(?=\S)/i
const heading = /^(#{1,6})[ \t]+(?=\S)/
const numbered = /^(?:(\d{1,3})[.)]|(\d{1,3}(?:\.\d{1,3}){1,5})[.)]?|[IVXLC]{1,6}[.)])[ \t]+(?=\S)/
const lettered = /^[A-Za-z][.)][ \t]+(?=\S)/
const bullet = /^[-*+•–][ \t]+(?=\S)/

const readLine = (raw: string): Line | undefined => {
  const cut = raw.slice(0, LINE_MAX).replace(/\t/g, "    ")
  const text = cut.trimStart()
  const indent = cut.length - text.length
  let match = marked.exec(text)
  if (match !== null) {
    const kind = match[1] === undefined ? "section" : "subsection"
    return { kind, level: 1, indent, text: text.slice(match[0].length) }
  }
  match = heading.exec(text)
  if (match !== null) return { kind: "heading", level: match[1]!.length, indent, text: text.slice(match[0].length) }
  match = numbered.exec(text)
  // Emphasised as a whole, a line with a number is one all the same.
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

const fromMarked = (lines: ReadonlyArray<Line>, into: Builder): undefined => {
  for (const line of lines) {
    if (line.kind === "section") into.section(line.text)
    else if (line.kind === "subsection") into.subsection(line.text)
  }
}

/** One heading above all others is the title. */
const fromHeadings = (lines: ReadonlyArray<Line>, into: Builder): string | undefined => {
  const headings = lines.filter((line) => line.kind === "heading")
  const top = headings.reduce((least, line) => Math.min(least, line.level), 6)
  const first = headings[0]!
  const alone = first.level === top && headings.length > 1 && headings.every((line, i) => i === 0 || line.level > top)
  const rest = alone ? headings.slice(1) : headings
  const level = rest.reduce((least, line) => Math.min(least, line.level), 6)
  // Lists below a heading are its subsections where it has no headings of its own.
  const deeper = rest.some((line) => line.level > level)
  let seen = false
  for (const line of lines) {
    if (alone && line === first) continue
    if (line.kind === "heading") {
      seen = true
      if (line.level === level) into.section(line.text)
      else into.subsection(line.text)
    } else if (seen && !deeper) into.subsection(line.text)
  }
  return alone ? titleOf(first.text) : undefined
}

/** What stands deeper than the first line of the list, by its number or by its indent, is a subsection. */
const fromList = (lines: ReadonlyArray<Line>, into: Builder): undefined => {
  const isNumbered = lines.some((line) => line.kind === "numbered")
  const tops = lines.filter((line) => !isNumbered || line.kind === "numbered")
  const indent = tops.reduce((least, line) => Math.min(least, line.indent), LINE_MAX)
  const level = tops.reduce((least, line) => Math.min(least, line.level), LINE_MAX)
  for (const line of lines) {
    const top = (!isNumbered || line.kind === "numbered") && line.level === level && line.indent <= indent + 1
    if (top) into.section(line.text)
    else into.subsection(line.text)
  }
}

const failure = (issue: PlanIssue): Either.Either<never, PlanError> =>
  Either.left(
    new PlanError({
      strategyName: "storm",
      issues: [issue],
      message: `The outline cannot be used: ${issue.message}`,
      hint: "Write each section as SECTION: <title>, and what it covers as SUBSECTION: <title> below it"
    })
  )

/** A list of one line is a sentence with a dash. */
const isOutline = (built: Builder, isList: boolean): boolean => {
  const first = built.drafts.values().next()
  if (first.done === true) return false
  return !isList || built.drafts.size > 1 || first.value.subsections.size > 0
}

/**
 * An outline out of a text: JSON, `SECTION:` and `SUBSECTION:` lines, Markdown headings, or a numbered or bulleted list. Whatever else the
 * text says is passed over; sections named twice are one, and so are subsections within theirs. A text without an outline is a `PlanError`.
 * Takes time linear in the text.
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
  const isList = !kinds.has("section") && !kinds.has("heading")
  const title = kinds.has("section")
    ? fromMarked(lines, built)
    : kinds.has("heading")
      ? fromHeadings(lines, built)
      : fromList(lines, built)
  return isOutline(built, isList)
    ? Either.right(finish(built, bounds, title))
    : failure({ reason: "malformed", message: "no section was found in it" })
}

/**
 * An outline as text that `parse` reads back.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = (outline: StormOutline): string =>
  outline.sections
    .flatMap((section) => [
      `SECTION: ${section.title}`,
      ...section.subsections.map((subsection) => `SUBSECTION: ${subsection}`)
    ])
    .join("\n")
