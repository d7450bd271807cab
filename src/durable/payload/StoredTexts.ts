/**
 * Texts in a `BlobStore`: compressed, and in pieces that every store takes.
 *
 * @private
 * @since 0.1.0
 */
import * as Zlib from "node:zlib"
import * as Effect from "effect/Effect"
import type * as BlobStore from "../../content/BlobStore.js"
import type { BlobNotFoundError, BlobStoreError } from "../../content/ContentError.js"
import type { PayloadRef, Place } from "./RunBlobs.js"

/** The most bytes of a piece. */
const PIECE = 4 * 1_048_576

const mediaType = "application/octet-stream"

const deflate = (text: string): Effect.Effect<Uint8Array> =>
  Effect.async((resume) => {
    Zlib.deflateRaw(text, { level: Zlib.constants.Z_BEST_SPEED }, (error, data) =>
      resume(error === null ? Effect.succeed(data) : Effect.die(error))
    )
  })

/** `undefined` for what is no text of this size. */
const inflate = (data: Uint8Array, bytes: number): Effect.Effect<string | undefined> =>
  Effect.async((resume) => {
    Zlib.inflateRaw(data, { maxOutputLength: Math.max(1, bytes) }, (error, text) =>
      resume(Effect.succeed(error === null && text.length === bytes ? text.toString("utf8") : undefined))
    )
  })

/**
 * Puts a text, and succeeds with its reference. The same text again changes nothing.
 *
 * @category operations
 */
export const put = (blobs: BlobStore.Service, place: Place, text: string): Effect.Effect<PayloadRef, BlobStoreError> =>
  Effect.gen(function* () {
    const data = yield* deflate(text)
    const pieces: Array<string> = []
    for (let at = 0; at === 0 || at < data.length; at += PIECE) {
      // A copy: the rest of a small piece of memory may be another's.
      const bytes = Uint8Array.from(data.subarray(at, at + PIECE))
      pieces.push((yield* blobs.put({ ...place, bytes, mediaType })).hash)
    }
    return { pieces: pieces as [string, ...Array<string>], bytes: Buffer.byteLength(text) }
  })

/**
 * The text; `undefined` if the pieces are not those of one.
 *
 * @category operations
 */
export const get = (
  blobs: BlobStore.Service,
  place: Place,
  { bytes, pieces }: PayloadRef
): Effect.Effect<string | undefined, BlobNotFoundError | BlobStoreError> =>
  Effect.flatMap(
    Effect.forEach(pieces, (hash) => blobs.get({ ...place, hash })),
    (found) => inflate(found.length === 1 ? (found[0] as Uint8Array) : Buffer.concat(found), bytes)
  )

/**
 * Gives the pieces to another place. Those of a run without a user have another owner, too.
 *
 * @category operations
 */
export const copy = (
  blobs: BlobStore.Service,
  from: Place,
  to: Place,
  { pieces }: PayloadRef
): Effect.Effect<void, BlobNotFoundError | BlobStoreError> =>
  from.owner === to.owner
    ? Effect.asVoid(blobs.copy({ owner: to.owner, from: from.scope, to: to.scope, hashes: pieces }))
    : Effect.forEach(
        pieces,
        (hash) => Effect.flatMap(blobs.get({ ...from, hash }), (bytes) => blobs.put({ ...to, bytes, mediaType })),
        { discard: true }
      )
