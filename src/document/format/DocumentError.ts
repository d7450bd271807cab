/**
 * Errors of documents. No message contains the text of a document.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/document/DocumentError"

/**
 * Why a document was rejected. `Invalid`: an id, a tag or an option is out of bounds. `TooLarge`: more bytes, text,
 * pages or chunks than are allowed. `Unreadable`: the bytes are not of the format. `Encrypted`: a PDF with a password.
 * `MissingPackage`: the optional package of the format is not installed. `Changing`: other writers kept changing the
 * document. `NoUser`: a run without a user may not search.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "Invalid",
  "TooLarge",
  "Unreadable",
  "Encrypted",
  "MissingPackage",
  "Changing",
  "NoUser"
)
/**
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * A document cannot be read, indexed or found.
 *
 * @since 0.1.0
 * @category errors
 */
export class DocumentError extends ErrorCode.TaggedError<DocumentError>(`${NAME}/DocumentError`)("DocumentError", {
  ...ErrorCode.fields("LEX_ERR_DOC_100"),
  reason: Reason,
  /** The id of the document, if it concerns one. */
  document: Schema.optional(Schema.String)
}) {}

/**
 * What is wrong with a citation. `Unknown`: no source with the number was shown. `Unsupported`: the sources that a
 * sentence cites do not have its words. `Missing`: the answer cites nothing.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CitationProblem = Schema.Struct({
  problem: Schema.Literal("Unknown", "Unsupported", "Missing"),
  /** The numbers that are cited. */
  numbers: Schema.Array(Schema.Number),
  /** The share of the words of the sentence that the cited sources have, 0 to 1. */
  support: Schema.optional(Schema.Number)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface CitationProblem extends Schema.Schema.Type<typeof CitationProblem> {}

/**
 * The citations of an answer do not hold.
 *
 * @since 0.1.0
 * @category errors
 */
export class CitationError extends ErrorCode.TaggedError<CitationError>(`${NAME}/CitationError`)("CitationError", {
  ...ErrorCode.fields("LEX_ERR_DOC_101"),
  problems: Schema.Array(CitationProblem)
}) {}

/**
 * Any failure of documents (family code `LEX_ERR_DOC_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const DocumentFailure = ErrorCode.Union(DocumentError, CitationError)
/**
 * @since 0.1.0
 * @category models
 */
export type DocumentFailure = typeof DocumentFailure.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isDocumentFailure: (u: unknown) => u is DocumentFailure = ErrorCode.is(DocumentFailure)
