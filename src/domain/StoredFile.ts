/**
 * Files as turns and events refer to them.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const NAME = "effect-lexigram/domain/StoredFile"

const MediaType = Schema.String.pipe(Schema.maxLength(192))

/**
 * A file by a reference to its bytes (`BlobRef`), or by the URL that was given.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StoredFile = Schema.Struct({
  mediaType: MediaType,
  fileName: Schema.optional(Schema.String.pipe(Schema.maxLength(255))),
  data: Schema.Union(
    Schema.Struct({
      hash: Schema.String.pipe(Schema.maxLength(128)),
      size: Schema.NonNegativeInt,
      mediaType: MediaType
    }),
    Schema.Struct({ url: Schema.String.pipe(Schema.maxLength(2048)) })
  )
}).annotations({ identifier: `${NAME}/StoredFile` })
/**
 * @since 0.1.0
 * @category models
 */
export interface StoredFile extends Schema.Schema.Type<typeof StoredFile> {}
