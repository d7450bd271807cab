/**
 * What people and tools put into a message: text, and files by their bytes, by a reference to stored bytes, or by a
 * URL. A URL is never fetched here.
 *
 * @since 0.1.0
 */
import * as Prompt from "@effect/ai/Prompt"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { BlobRef } from "./BlobRef.js"
import { ContentError } from "./ContentError.js"
import * as ContentSource from "./ContentSource.js"
import * as MediaType from "./MediaType.js"

/**
 * @since 0.1.0
 * @category schemas
 */
export const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }).annotations({
  identifier: "effect-lexigram/content/Content/Text"
})
/**
 * @since 0.1.0
 * @category models
 */
export type Text = typeof Text.Type

const maxBase64 = 4 * Math.ceil(ContentSource.defaultMaxBytes / 3)

/** Bytes, encoded as `{ base64 }`. */
const Bytes = Schema.transform(
  Schema.Struct({
    base64: Schema.compose(Schema.String.pipe(Schema.maxLength(maxBase64)), Schema.Uint8ArrayFromBase64)
  }),
  Schema.Uint8ArrayFromSelf,
  { strict: true, decode: ({ base64 }) => base64, encode: (base64) => ({ base64 }) }
)

/** An http or https URL without credentials, encoded as `{ url }`. */
const Address = Schema.transform(
  Schema.Struct({ url: Schema.compose(Schema.String.pipe(Schema.maxLength(ContentSource.maxUrl)), Schema.URL) }),
  Schema.URLFromSelf.pipe(
    Schema.filter((url) => ContentSource.isAddress(url) || "expected an http or https URL without credentials")
  ),
  { strict: true, decode: ({ url }) => url, encode: (url) => ({ url }) }
)

/**
 * A file. `mediaType` is lower-case and has no parameters; of a URL its subtype may be `*`. Bytes are at most 20 MiB
 * when they are decoded, and show no other type. `fileName` is 1 to 255 characters without slashes and control
 * characters.
 *
 * @since 0.1.0
 * @category schemas
 */
export const File = Schema.Struct({
  type: Schema.Literal("file"),
  mediaType: Schema.String.pipe(
    Schema.filter((type) => MediaType.normalize(type) === type || "expected a media type in lower case")
  ),
  data: Schema.Union(Bytes, BlobRef, Address),
  fileName: Schema.optional(
    Schema.String.pipe(Schema.filter((name) => ContentSource.isFileName(name) || "expected a name without a path"))
  )
})
  .pipe(
    Schema.filter(
      ({ data, mediaType }) =>
        !(data instanceof Uint8Array && MediaType.contradicts(mediaType, MediaType.sniff(data))) ||
        "the bytes are of another media type"
    )
  )
  .annotations({ identifier: "effect-lexigram/content/Content/File" })
/**
 * @since 0.1.0
 * @category models
 */
export type File = typeof File.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const Content = Schema.Union(Text, File).annotations({ identifier: "effect-lexigram/content/Content" })
/**
 * @since 0.1.0
 * @category models
 */
export type Content = typeof Content.Type

/**
 * A file whose bytes are at hand or have a URL.
 *
 * @since 0.1.0
 * @category models
 */
export type ResolvedFile = File & { readonly data: Uint8Array | URL }

/**
 * Whether the bytes of a file are at hand or have a URL.
 *
 * @since 0.1.0
 * @category guards
 */
export const isResolved = (file: File): file is ResolvedFile =>
  file.data instanceof Uint8Array || file.data instanceof URL

/**
 * Content without references.
 *
 * @since 0.1.0
 * @category models
 */
export type Resolved = Text | ResolvedFile

/**
 * Bytes, base64, a `data:` URL, or an http or https URL.
 *
 * @since 0.1.0
 * @category models
 */
export type Source = Uint8Array | string | URL

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default: the type of a `data:` URL, else what the bytes show, else by the extension of the name or the URL. */
  readonly mediaType?: string | undefined
  /** 1 to 255 characters without slashes and control characters. */
  readonly fileName?: string | undefined
  /** The most bytes, at least 1; base64 is measured before it is decoded. Default: 20 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const text = (text: string): Text => ({ type: "text", text })

const fail = (reason: ContentError["reason"], message: string, hint: string) =>
  new ContentError({ reason, message, hint })

/** The given type, or the type that the source shows. */
const decideType = (
  { bytes, declared, path }: ContentSource.Read,
  options: Options,
  otherwise: string | undefined
): Effect.Effect<string, ContentError> => {
  const given = options.mediaType ?? declared
  const normal = given === undefined ? undefined : MediaType.normalize(given)
  if (given !== undefined && normal === undefined) {
    return fail("media-type", "The media type is malformed", "Give a media type like image/png")
  }
  const found = bytes === undefined ? undefined : MediaType.sniff(bytes)
  if (normal !== undefined && bytes !== undefined && MediaType.contradicts(normal, found)) {
    const shown = found === undefined ? "another type" : found
    return fail("mismatch", `The bytes are ${shown}, not ${normal}`, "Give the type of the bytes, or leave it out")
  }
  if (normal !== undefined && !(normal.endsWith("/*") && found !== undefined)) return Effect.succeed(normal)
  const named = MediaType.ofName(options.fileName ?? path ?? "")
  // Text of a more special kind shows in the name alone: csv, html.
  const type =
    found === "text/plain" && named !== undefined && !MediaType.contradicts(named, found)
      ? named
      : (found ?? (bytes === undefined ? (named ?? otherwise) : undefined))
  return type === undefined
    ? fail("unrecognized", "The content does not show its media type", "Give `mediaType`")
    : Effect.succeed(type)
}

const make = Effect.fnUntraced(function* (
  source: Source,
  options: Options,
  kind: "image" | "audio" | undefined
): Effect.fn.Return<ResolvedFile, ContentError> {
  const { fileName } = options
  if (fileName !== undefined && !ContentSource.isFileName(fileName)) {
    const hint = "Give 1 to 255 characters without slashes and control characters"
    return yield* fail("file-name", "The file name is malformed", hint)
  }
  const read = yield* ContentSource.read(source, options.maxBytes)
  const mediaType = yield* decideType(read, options, kind === undefined ? undefined : `${kind}/*`)
  if (kind !== undefined && !mediaType.startsWith(`${kind}/`)) {
    return yield* fail("kind", `The content is ${mediaType}`, `Give ${kind} content, or use \`Content.file\``)
  }
  return { type: "file", mediaType, data: read.bytes ?? read.url, ...(fileName === undefined ? {} : { fileName }) }
})

/**
 * A file of any type. Bytes are not copied. Fails with a `ContentError` whose `reason` says what is wrong.
 *
 * @example
 * ```ts
 * import { Content } from "effect-lexigram/content"
 * import * as Effect from "effect/Effect"
 *
 * const report = Content.file("https://example.com/report.pdf")
 * const picture = Content.image(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
 *
 * const parts = Effect.all([report, picture])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const file = (source: Source, options: Options = {}): Effect.Effect<ResolvedFile, ContentError> =>
  make(source, options, undefined)

/**
 * An image. Bytes of another kind fail with `kind`. A URL whose type is unknown is `image/*`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const image = (source: Source, options: Options = {}): Effect.Effect<ResolvedFile, ContentError> =>
  make(source, options, "image")

/**
 * Audio. Bytes of another kind fail with `kind`. A URL whose type is unknown is `audio/*`. A container that may hold
 * pictures, such as mp4 or webm, needs its `mediaType`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const audio = (source: Source, options: Options = {}): Effect.Effect<ResolvedFile, ContentError> =>
  make(source, options, "audio")

/**
 * Replaces references by the bytes that `load` reads, in sequence.
 *
 * @since 0.1.0
 * @category combinators
 */
export const resolve = <E, R>(
  contents: ReadonlyArray<Content>,
  load: (ref: BlobRef) => Effect.Effect<Uint8Array, E, R>
): Effect.Effect<ReadonlyArray<Resolved>, E, R> =>
  Effect.forEach(contents, (content): Effect.Effect<Resolved, E, R> => {
    if (content.type === "text") return Effect.succeed(content)
    return isResolved(content)
      ? Effect.succeed(content)
      : Effect.map(load(content.data as BlobRef), (bytes) => ({ ...content, data: bytes }))
  })

/**
 * Replaces bytes by the references under which `keep` stored them, in sequence.
 *
 * @since 0.1.0
 * @category combinators
 */
export const detach = <E, R>(
  contents: ReadonlyArray<Content>,
  keep: (file: { readonly bytes: Uint8Array; readonly mediaType: string }) => Effect.Effect<BlobRef, E, R>
): Effect.Effect<ReadonlyArray<Content>, E, R> =>
  Effect.forEach(contents, (content): Effect.Effect<Content, E, R> => {
    if (content.type === "text" || !(content.data instanceof Uint8Array)) return Effect.succeed(content)
    return Effect.map(keep({ bytes: content.data, mediaType: content.mediaType }), (data) => ({ ...content, data }))
  })

/**
 * The parts of a message for `@effect/ai`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toPromptParts = (contents: ReadonlyArray<Resolved>): ReadonlyArray<Prompt.TextPart | Prompt.FilePart> =>
  contents.map((content) =>
    content.type === "text"
      ? Prompt.makePart("text", { text: content.text })
      : Prompt.makePart("file", {
          mediaType: content.mediaType,
          data: content.data,
          ...(content.fileName === undefined ? {} : { fileName: content.fileName })
        })
  )

/**
 * The content of parts of `@effect/ai`, checked as by `file`. Options of parts are left out.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromPromptParts = (
  parts: ReadonlyArray<Prompt.TextPart | Prompt.FilePart>,
  options: Pick<Options, "maxBytes"> = {}
): Effect.Effect<ReadonlyArray<Resolved>, ContentError> =>
  Effect.forEach(parts, (part): Effect.Effect<Resolved, ContentError> => {
    if (part.type === "text") return Effect.succeed(text(part.text))
    const { data, fileName, mediaType } = part
    return file(data, { ...options, mediaType, fileName })
  })
