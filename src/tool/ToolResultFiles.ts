/**
 * Checks the files of a tool result and makes the references that stand for them.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as BlobRef from "../content/BlobRef.js"
import type { ResolvedFile } from "../content/Content.js"
import { ContentError } from "../content/ContentError.js"
import * as ContentSource from "../content/ContentSource.js"
import * as MediaType from "../content/MediaType.js"
import * as ToolFiles from "../content/ToolFiles.js"
import type { StoredFile } from "../domain/StoredFile.js"

/** The most files of one result. */
const maxFiles = 32

const fail = (reason: ContentError["reason"], message: string, hint: string) =>
  new ContentError({ reason, message, hint })

const typeOf = (file: ResolvedFile): Effect.Effect<string, ContentError> => {
  const { data } = file
  const given = MediaType.normalize(file.mediaType)
  if (given === undefined) return fail("media-type", "a media type is malformed", "Give a media type like image/png")
  if (data instanceof URL) return Effect.succeed(given)
  const found = MediaType.sniff(data)
  if (MediaType.contradicts(given, found)) {
    return fail("mismatch", `the bytes of a file are ${found ?? "of another type"}, not ${given}`, "Give their type")
  }
  return Effect.succeed(
    (given.endsWith("/*") || given === "application/octet-stream") && found !== undefined ? found : given
  )
}

const refer = (file: ResolvedFile): Effect.Effect<StoredFile, ContentError> =>
  Effect.flatMap(typeOf(file), (mediaType) => {
    const { data, fileName } = file
    if (fileName !== undefined && !ContentSource.isFileName(fileName)) {
      return fail("file-name", "the name of a file is malformed", "Give a name without a path")
    }
    const named = { mediaType, ...(fileName === undefined ? {} : { fileName }) }
    if (data instanceof URL) {
      return ContentSource.isAddress(data)
        ? Effect.succeed<StoredFile>({ ...named, data: { url: data.href } })
        : fail("url", "the URL of a file is not an http or https URL", "Give an http or https URL without credentials")
    }
    const bytes = { hash: BlobRef.hashOf(data), size: data.length, mediaType }
    return Effect.succeed(ToolFiles.hold({ ...named, data: bytes }, data))
  })

/** References to the files, which hold their bytes. */
export const make = (files: ReadonlyArray<ResolvedFile>): Effect.Effect<ReadonlyArray<StoredFile>, ContentError> => {
  const bytes = files.reduce((sum, { data }) => sum + (data instanceof Uint8Array ? data.length : 0), 0)
  if (files.length > maxFiles) {
    return fail("too-large", `the result has ${files.length} files`, `Return at most ${maxFiles} files`)
  }
  if (bytes > ContentSource.defaultMaxBytes) {
    const most = ContentSource.defaultMaxBytes
    return fail("too-large", `the files have ${bytes} bytes`, `Return at most ${most} bytes, or URLs`)
  }
  return Effect.forEach(files, refer)
}

const noteOf = ({ data, fileName, mediaType }: StoredFile): string => {
  const name = fileName ?? ("url" in data ? data.url : "file")
  return `[${name}, ${mediaType}${"url" in data ? "" : `, ${data.size} bytes`}]`
}

/** What stands for the files in texts. */
export const describe = (files: ReadonlyArray<StoredFile>): string => files.map(noteOf).join("\n")
