/**
 * Reads the text of a document by its format. HTML needs the package `htmlparser2`, PDF the package `unpdf`; each is
 * loaded with the first document of its format.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Count from "../../internal/Count.js"
import * as MarkdownBlocks from "../text/MarkdownBlocks.js"
import { DocumentError } from "./DocumentError.js"
import type { Bounds, DocumentText, Format } from "./DocumentText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Bytes of a document at most, or characters of a text. Default 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Characters that are read of a document at most. Default 10,000,000. */
  readonly maxCharacters?: number | undefined
  /** Pages of a PDF at most. Default 5,000. */
  readonly maxPages?: number | undefined
  /** Milliseconds for which a PDF is read at most. Default 60,000. */
  readonly pdfMillis?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Source {
  readonly content: string | Uint8Array
  /** Default: by the ending of `source` or `name`, or by the first bytes; `text` otherwise. */
  readonly format?: Format | undefined
  /** The document in errors, and its file name, path or URL. */
  readonly name: string
  /** Another path or URL of it. */
  readonly source?: string | undefined
}

const endings: ReadonlyMap<string, Format> = new Map([
  ["md", "markdown"],
  ["markdown", "markdown"],
  ["mdx", "markdown"],
  ["mdown", "markdown"],
  ["htm", "html"],
  ["html", "html"],
  ["xhtml", "html"],
  ["pdf", "pdf"],
  ["txt", "text"]
])

const endingOf = (name: string): string => /\.([a-z]{2,8})(?:[?#]|$)/.exec(name.slice(-200).toLowerCase())?.[1] ?? ""

const isPdf = (bytes: Uint8Array): boolean => {
  // A header may follow some other bytes.
  const head = String.fromCharCode(...bytes.subarray(0, 1024))
  return head.includes("%PDF-")
}

/**
 * The format of a source.
 *
 * @since 0.1.0
 * @category getters
 */
export const formatOf = ({ content, format, name, source = "" }: Source): Format => {
  if (format !== undefined) return format
  if (typeof content !== "string" && isPdf(content)) return "pdf"
  const known = endings.get(endingOf(source)) ?? endings.get(endingOf(name)) ?? "text"
  return known === "pdf" && typeof content === "string" ? "text" : known
}

const tooLarge = (name: string, found: number, most: number, unit: string): DocumentError =>
  new DocumentError({
    reason: "TooLarge",
    document: name,
    message: `The document has ${found} ${unit}; ${most} are allowed`,
    hint: "Split the document, or raise the bound in the options of the index"
  })

const unreadable = (name: string, message: string, hint: string, cause?: unknown): DocumentError =>
  new DocumentError({ reason: "Unreadable", document: name, message, hint, ...(cause === undefined ? {} : { cause }) })

/** The text of bytes in UTF-8, or in UTF-16 with a byte order mark. */
const decode = (name: string, bytes: Uint8Array): Effect.Effect<string, DocumentError> => {
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  const text = new TextDecoder(isWide ? (bytes[0] === 0xff ? "utf-16le" : "utf-16be") : "utf-8").decode(bytes)
  return text.slice(0, 8_192).includes("\u0000")
    ? unreadable(name, "The document is not text", "Name its format, or convert it to text, Markdown, HTML or PDF")
    : Effect.succeed(text)
}

const textOf = ({ content, name }: Source): Effect.Effect<string, DocumentError> =>
  typeof content === "string" ? Effect.succeed(content) : decode(name, content)

const boundsOf = (options: Options): Bounds => ({
  maxBytes: Count.count(options.maxBytes, 32 * 1024 * 1024, 1),
  maxCharacters: Count.count(options.maxCharacters, 10_000_000, 1),
  maxPages: Count.count(options.maxPages, 5_000, 1),
  millis: Count.count(options.pdfMillis, 60_000, 1)
})

const readHtml = Effect.fnUntraced(function* (source: Source, bounds: Bounds) {
  const html = yield* textOf(source)
  const { read } = yield* Effect.promise(() => import("./HtmlText.js"))
  return yield* read(source.name, html, bounds)
})

const readPdf = Effect.fnUntraced(function* (source: Source, bounds: Bounds) {
  const { content, name } = source
  if (typeof content === "string") {
    return yield* unreadable(name, "A PDF was given as text", "Give the bytes of the PDF")
  }
  const { read } = yield* Effect.promise(() => import("./PdfText.js"))
  return yield* read(name, content, bounds)
})

const byFormat = (source: Source, bounds: Bounds): Effect.Effect<DocumentText, DocumentError> => {
  const format = formatOf(source)
  switch (format) {
    case "html":
      return readHtml(source, bounds)
    case "pdf":
      return readPdf(source, bounds)
    case "markdown":
      return Effect.map(textOf(source), (text) => {
        const title = MarkdownBlocks.titleIn(text)
        return { format, text, syntax: "markdown", ...(title === undefined ? {} : { title }) }
      })
    case "text":
      return Effect.map(textOf(source), (text) => ({ format, text, syntax: "plain" }))
  }
}

/**
 * Reads a document within bounds.
 *
 * @example
 * ```ts
 * import { DocumentReader } from "effect-lexigram/document"
 * import * as Effect from "effect/Effect"
 *
 * const content = "<title>Opening hours</title><p>We are open from 9 to 5.</p>"
 *
 * const program = Effect.gen(function* () {
 *   const { text, title } = yield* DocumentReader.read({ name: "hours.html", content }, { maxBytes: 1024 * 1024 })
 *   return `${title}: ${text}`
 * })
 * ```
 *
 * @since 0.1.0
 * @category conversions
 */
export const read = (source: Source, options: Options = {}): Effect.Effect<DocumentText, DocumentError> =>
  Effect.suspend((): Effect.Effect<DocumentText, DocumentError> => {
    const bounds = boundsOf(options)
    const { content, name } = source
    if (content.length > bounds.maxBytes) {
      return tooLarge(name, content.length, bounds.maxBytes, typeof content === "string" ? "characters" : "bytes")
    }
    return Effect.filterOrFail(
      byFormat(source, bounds),
      ({ text }) => text.length <= bounds.maxCharacters,
      ({ text }) => tooLarge(name, text.length, bounds.maxCharacters, "characters")
    )
  })
