/**
 * References to stored bytes.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Sha256 from "../internal/text/Sha256.js"

/**
 * `sha256:` and 64 lower-case hexadecimal digits.
 *
 * @since 0.1.0
 * @category schemas
 */
export const BlobHash = Schema.String.pipe(Schema.pattern(/^sha256:[0-9a-f]{64}$/)).annotations({
  identifier: "effect-lexigram/content/BlobRef/BlobHash"
})

/**
 * Bytes by their SHA-256 hash. `size` is in bytes. A reference gives no access: a `BlobStore` also asks for the owner
 * and the scope.
 *
 * @since 0.1.0
 * @category schemas
 */
export const BlobRef = Schema.Struct({
  hash: BlobHash,
  size: Schema.NonNegativeInt,
  mediaType: Schema.String.pipe(Schema.maxLength(192))
}).annotations({ identifier: "effect-lexigram/content/BlobRef/BlobRef" })
/**
 * @since 0.1.0
 * @category models
 */
export type BlobRef = typeof BlobRef.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isHash: (u: unknown) => u is string = Schema.is(BlobHash)

/**
 * @since 0.1.0
 * @category guards
 */
export const isBlobRef: (u: unknown) => u is BlobRef = Schema.is(BlobRef)

/**
 * The hash of bytes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const hashOf = (bytes: Uint8Array): string => `sha256:${Sha256.hex(bytes)}`
