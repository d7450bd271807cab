/**
 * Documents as they are given, as they are kept, and passages of them.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Format } from "./format/DocumentText.js"

/**
 * The id of a document, by which it is replaced and deleted: a path, a URL, any text.
 *
 * @since 0.1.0
 * @category schemas
 */
export const DocumentId = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(2_000))

/**
 * @since 0.1.0
 * @category schemas
 */
export const Tag = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100))

/**
 * The most tags of one document.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxTags = 32

/**
 * A document to be indexed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Document {
  /** Unique among the documents of an owner. */
  readonly id: string
  /** Text, or the bytes of a file. */
  readonly content: string | Uint8Array
  /** Default: by the ending of the source or the id, or by the first bytes; `text` otherwise. */
  readonly format?: Format | undefined
  /** Default: the title that the document gives itself, otherwise its id. At most 500 characters. */
  readonly title?: string | undefined
  /** Where it comes from, as citations show it. Default the id. At most 2,000 characters. */
  readonly source?: string | undefined
  /** At most 32 of 1 to 100 characters. */
  readonly tags?: ReadonlyArray<string> | undefined
}

/**
 * A document of the index.
 *
 * @since 0.1.0
 * @category models
 */
export interface DocumentInfo {
  readonly id: string
  readonly title: string
  readonly source: string
  readonly format: Format
  readonly tags: ReadonlyArray<string>
  readonly chunks: number
  readonly characters: number
  /** Whether it is found by meaning, too. */
  readonly isEmbedded: boolean
  /** When its content or description last changed, in milliseconds since the epoch. */
  readonly changedAt: number
}

/**
 * A piece of a document. `start` and `end` are its place in the text of the document, in UTF-16 units; of HTML and PDF
 * in the text that was read of them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Passage {
  /** The same as long as its text, its headings and the title of its document are. */
  readonly id: string
  readonly text: string
  /** The headings above it, the outermost first. */
  readonly headings: ReadonlyArray<string>
  readonly start: number
  readonly end: number
  /** The first and the last page, from 1, where the format has pages. */
  readonly pages?: readonly [first: number, last: number] | undefined
}

/**
 * A passage that a search found.
 *
 * @since 0.1.0
 * @category models
 */
export interface Hit extends Passage {
  readonly document: DocumentInfo
  /** 0 to 1; comparable within one search. */
  readonly score: number
  /** The passages before and after it, in the order of the text. Empty unless they were asked for. */
  readonly before: ReadonlyArray<Passage>
  readonly after: ReadonlyArray<Passage>
}

/**
 * The place of a passage in words: its headings and pages.
 *
 * @since 0.1.0
 * @category conversions
 */
export const placeOf = ({ headings, pages }: Pick<Passage, "headings" | "pages">): string => {
  const page = pages === undefined ? "" : pages[0] === pages[1] ? `p. ${pages[0]}` : `pp. ${pages[0]}–${pages[1]}`
  return [headings.join(" › "), page].filter((part) => part !== "").join(", ")
}

/**
 * The text of passages that follow each other, without what they repeat.
 *
 * @since 0.1.0
 * @category conversions
 */
export const joined = (passages: ReadonlyArray<Passage>): string => {
  let text = ""
  let end = -1
  for (const passage of passages) {
    if (passage.end <= end) continue
    text +=
      end < 0 ? passage.text : passage.start < end ? passage.text.slice(end - passage.start) : `\n\n${passage.text}`
    end = passage.end
  }
  return text
}
