/**
 * The text that is read of a document, with its title and its pages.
 *
 * @since 0.1.0
 */
import type { Syntax } from "../text/Chunker.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Format = "text" | "markdown" | "html" | "pdf"

/**
 * The text of a document.
 *
 * @since 0.1.0
 * @category models
 */
export interface DocumentText {
  readonly format: Format
  readonly text: string
  readonly syntax: Syntax
  /** The title that the document gives itself. */
  readonly title?: string | undefined
  /** Where each page begins in the text. Absent if the format has no pages. */
  readonly pages?: ReadonlyArray<number> | undefined
}

/**
 * The bounds of a reading.
 *
 * @since 0.1.0
 * @category models
 */
export interface Bounds {
  readonly maxCharacters: number
  readonly maxPages: number
  readonly millis: number
  readonly maxBytes: number
}
