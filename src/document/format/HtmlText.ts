/**
 * Reads the text of HTML as Markdown, by `htmlparser2`: headings, lists, tables and preformatted text keep their form;
 * scripts, styles, navigation and what a page hides are left out.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as MarkdownBlocks from "../text/MarkdownBlocks.js"
import { DocumentError } from "./DocumentError.js"
import type { Bounds, DocumentText } from "./DocumentText.js"

type Attributes = Readonly<Record<string, string>>

/** The part of the package that is used. */
interface Parsing {
  readonly Parser: new (handler: {
    readonly onopentag: (name: string, attributes: Attributes) => void
    readonly onclosetag: (name: string) => void
    readonly ontext: (text: string) => void
  }) => { readonly write: (html: string) => void; readonly end: () => void }
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "))

/** Elements whose content is no text of the page. */
const left = words(
  "script style noscript template svg math nav aside footer form button select option textarea iframe object canvas audio video dialog menu"
)
/** Elements that begin and end a paragraph. */
const blocks = words(
  "address article blockquote body center dd details div dl dt fieldset figcaption figure header hr main p section summary table tbody thead tfoot ul ol"
)
const roles = words("navigation banner contentinfo search menu menubar dialog alertdialog complementary")

/** Nested elements. Browsers stop at the same depth; a parser looks through all of them for the one that a tag ends. */
const MAX_DEPTH = 512

/** Characters that are parsed before the event loop turns. */
const SLICE = 256 * 1024

const isHidden = (name: string, attributes: Attributes): boolean =>
  left.has(name) ||
  Object.hasOwn(attributes, "hidden") ||
  attributes["aria-hidden"] === "true" ||
  roles.has(attributes["role"] ?? "") ||
  /display:\s{0,9}none/i.test((attributes["style"] ?? "").slice(0, 1_000))

class TooDeep extends Error {}

/** Builds the text from the tags and texts of a page. */
class Writer {
  readonly out: Array<string> = []
  title = ""
  private depth = 0
  /** The depth of the outermost element that is left out; 0 outside. */
  private hiddenAt = 0
  private inTitle = false
  private pre: Array<string> | undefined
  private cell: Array<string> | undefined
  private row: Array<string> = []
  private rows = 0
  private heading: Array<string> | undefined
  private level = 0
  private breaks = 2

  open(name: string, attributes: Attributes): void {
    if (++this.depth > MAX_DEPTH) throw new TooDeep()
    if (this.hiddenAt > 0) return
    if (isHidden(name, attributes)) {
      this.hiddenAt = this.depth
      return
    }
    if (name === "title") this.inTitle = true
    else if (/^h[1-6]$/.test(name)) this.openHeading(Number(name[1]))
    else if (name === "pre" && this.cell === undefined) {
      this.paragraph()
      this.pre = []
    } else if (name === "br") this.text("\n")
    else if (name === "li") this.line("- ")
    else if (name === "table") this.rows = 0
    else if (name === "tr") this.row = []
    else if (name === "td" || name === "th") this.cell = []
    if (blocks.has(name)) this.paragraph()
  }

  close(name: string): void {
    const closed = this.depth--
    if (this.hiddenAt > 0) {
      if (closed === this.hiddenAt) this.hiddenAt = 0
      return
    }
    if (name === "title") this.inTitle = false
    else if (/^h[1-6]$/.test(name)) this.closeHeading()
    else if (name === "pre") this.closePre()
    else if (name === "td" || name === "th") this.closeCell()
    else if (name === "tr") this.closeRow()
    if (blocks.has(name)) this.paragraph()
  }

  text(text: string): void {
    if (this.inTitle) this.title += text.slice(0, 1_000 - Math.min(1_000, this.title.length))
    else if (this.hiddenAt > 0) return
    else if (this.pre !== undefined) this.pre.push(text)
    else if (this.cell !== undefined) this.cell.push(text.replace(/\s+/g, " "))
    else if (this.heading !== undefined) this.heading.push(text.replace(/\s+/g, " "))
    else this.inline(text)
  }

  private inline(text: string): void {
    const collapsed = text.replace(/\s+/g, " ")
    const shown = this.breaks > 0 ? collapsed.trimStart() : collapsed
    if (shown === "") return
    this.out.push(shown)
    this.breaks = 0
  }

  /** Begins a line. */
  private line(start: string): void {
    if (this.cell !== undefined || this.heading !== undefined || this.pre !== undefined) return
    if (this.breaks === 0) this.out.push("\n")
    this.out.push(start)
    this.breaks = 1
  }

  /** Ends a paragraph. */
  private paragraph(): void {
    if (this.cell !== undefined || this.heading !== undefined || this.pre !== undefined || this.breaks === 2) return
    this.out.push(this.breaks === 1 ? "\n" : "\n\n")
    this.breaks = 2
  }

  private openHeading(level: number): void {
    if (this.cell !== undefined || this.pre !== undefined) return
    this.closeHeading()
    this.paragraph()
    this.heading = []
    this.level = level
  }

  private closeHeading(): void {
    const text = this.heading?.join("").replace(/\s+/g, " ").trim()
    this.heading = undefined
    if (text === undefined || text === "") return
    this.out.push(`${"#".repeat(this.level)} ${text}`)
    this.breaks = 0
    this.paragraph()
  }

  private closePre(): void {
    const text = this.pre?.join("").replace(/^\n/, "").trimEnd()
    this.pre = undefined
    if (text === undefined || text === "") return
    const longest = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2)
    const fence = "`".repeat(longest + 1)
    this.out.push(`${fence}\n${text}\n${fence}`)
    this.breaks = 0
    this.paragraph()
  }

  private closeCell(): void {
    if (this.cell === undefined) return
    this.row.push(this.cell.join("").replace(/\s+/g, " ").replaceAll("|", "\\|").trim())
    this.cell = undefined
  }

  private closeRow(): void {
    this.closeCell()
    if (this.row.length === 0) return
    if (this.breaks === 0) this.out.push("\n")
    this.out.push(`| ${this.row.join(" | ")} |`)
    if (this.rows === 0) this.out.push(`\n|${" --- |".repeat(this.row.length)}`)
    this.rows++
    this.row = []
    this.breaks = 0
  }
}

const missing = (document: string, cause: unknown): DocumentError =>
  new DocumentError({
    reason: "MissingPackage",
    document,
    message: "Reading HTML needs the package htmlparser2, which is not installed",
    hint: "npm install htmlparser2",
    cause
  })

const broken = (document: string, cause: unknown): DocumentError =>
  cause instanceof TooDeep
    ? new DocumentError({
        reason: "Unreadable",
        document,
        message: `The page has elements within more than ${MAX_DEPTH} others`,
        hint: "Give the text of the page"
      })
    : new DocumentError({ reason: "Unreadable", document, message: "The page cannot be read as HTML", cause })

const load = (document: string): Effect.Effect<Parsing, DocumentError> =>
  Effect.tryPromise({
    try: () => import("htmlparser2") as Promise<Parsing>,
    catch: (cause) => missing(document, cause)
  })

/**
 * Linear time for any page.
 *
 * @category conversions
 */
export const read = (name: string, html: string, _: Bounds): Effect.Effect<DocumentText, DocumentError> =>
  Effect.gen(function* () {
    const { Parser } = yield* load(name)
    const writer = new Writer()
    const parser = new Parser({
      onopentag: (tag, attributes) => writer.open(tag, attributes),
      onclosetag: (tag) => writer.close(tag),
      ontext: (text) => writer.text(text)
    })
    for (let at = 0; at < html.length; at += SLICE) {
      yield* Effect.try({
        try: () => parser.write(html.slice(at, at + SLICE)),
        catch: (cause) => broken(name, cause)
      })
      yield* Effect.yieldNow()
    }
    yield* Effect.try({ try: () => parser.end(), catch: (cause) => broken(name, cause) })
    const text = writer.out.join("").trim()
    const named = writer.title.replace(/\s+/g, " ").trim().slice(0, 500)
    const title = named === "" ? MarkdownBlocks.titleIn(text) : named
    return {
      format: "html" as const,
      syntax: "markdown" as const,
      text,
      ...(title === undefined ? {} : { title })
    }
  })
