/**
 * What a store of blobs needs from below, and the store over it: checks of ids, sizes and hashes are the same for every
 * backend.
 *
 * @since 0.1.0
 */
export * as BlobBackend from "./BlobBackend.js"

/**
 * References to stored bytes.
 *
 * @since 0.1.0
 */
export * as BlobRef from "./BlobRef.js"

/**
 * Stores bytes once for each scope of an owner, by their SHA-256 hash. Owners share nothing: nobody learns whether
 * another owner has the same file, and erasing an owner needs no collection of garbage.
 *
 * @since 0.1.0
 */
export * as BlobStore from "./BlobStore.js"

/**
 * What people and tools put into a message: text, and files by their bytes, by a reference to stored bytes, or by a
 * URL. A URL is never fetched here.
 *
 * @since 0.1.0
 */
export * as Content from "./Content.js"

/**
 * Errors of content and of stores of its bytes. No message contains content, keys or headers.
 *
 * @since 0.1.0
 */
export * as ContentError from "./ContentError.js"

/**
 * A `BlobStore` in memory.
 *
 * @since 0.1.0
 */
export * as InMemoryBlobStore from "./InMemoryBlobStore.js"

/**
 * Media types: their grammar, their recognition by leading bytes, and whether bytes contradict a given type.
 *
 * @since 0.1.0
 */
export * as MediaType from "./MediaType.js"

/**
 * Results of tools that have files: images, documents, audio.
 *
 * @since 0.1.0
 */
export * as ToolContent from "./ToolContent.js"
