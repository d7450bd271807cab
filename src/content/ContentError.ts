/**
 * Errors of content and of stores of its bytes. No message contains content, keys or headers.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"

const NAME = "effect-lexigram/content/ContentError"

/**
 * Why content was rejected. `base64`: the text is not base64. `data-url`: the data URL is malformed. `url`: the URL is
 * malformed, too long, of another scheme or has credentials. `too-large`: more bytes than `maxBytes`. `media-type`: the
 * given media type is malformed. `unrecognized`: no media type was given and the bytes do not show one. `mismatch`: the
 * bytes are of another type than the given one. `kind`: an image or audio was asked for and the content is something
 * else. `file-name`: the file name is malformed. `part`: a part of the input is neither text nor a file.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "base64",
  "data-url",
  "url",
  "too-large",
  "media-type",
  "unrecognized",
  "mismatch",
  "kind",
  "file-name",
  "part"
)
/**
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * The input is not valid content.
 *
 * @since 0.1.0
 * @category errors
 */
export class ContentError extends ErrorCode.TaggedError<ContentError>(`${NAME}/ContentError`)("ContentError", {
  ...ErrorCode.fields("LEX_ERR_CONTENT_100"),
  reason: Reason
}) {}

/**
 * The scope of the owner has no such blob. Blobs of other owners and scopes are reported in the same way.
 *
 * @since 0.1.0
 * @category errors
 */
export class BlobNotFoundError extends ErrorCode.TaggedError<BlobNotFoundError>(`${NAME}/BlobNotFoundError`)(
  "BlobNotFoundError",
  { ...ErrorCode.fields("LEX_ERR_CONTENT_101"), hash: Schema.String }
) {}

/**
 * Why a store failed. `input`: an id, a hash or a media type is malformed. `too-large`: the blob exceeds `maxBytes`.
 * `full`: the store has no room. `corrupt`: the stored bytes are not those of the hash. `refused`: the storage refused
 * the credentials or the access. `storage`: anything else; a retry may succeed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StoreReason = Schema.Literal("input", "too-large", "full", "corrupt", "refused", "storage")
/**
 * @since 0.1.0
 * @category models
 */
export type StoreReason = typeof StoreReason.Type

/**
 * A blob could not be stored or read. `store` names the backend: `memory`, `sqlite`, `postgres`, `files`, `s3`.
 *
 * @since 0.1.0
 * @category errors
 */
export class BlobStoreError extends ErrorCode.TaggedError<BlobStoreError>(`${NAME}/BlobStoreError`)("BlobStoreError", {
  ...ErrorCode.fields("LEX_ERR_CONTENT_102"),
  store: Schema.String,
  reason: StoreReason
}) {}

/**
 * Any failure of content (family code `LEX_ERR_CONTENT_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const ContentFailure = ErrorCode.Union(ContentError, BlobNotFoundError, BlobStoreError)
/**
 * @since 0.1.0
 * @category models
 */
export type ContentFailure = typeof ContentFailure.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isContentFailure: (u: unknown) => u is ContentFailure = ErrorCode.is(ContentFailure)
