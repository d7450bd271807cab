/**
 * Contents as MCP writes them.
 *
 * @private
 * @since 0.1.0
 */
import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  ReadResourceResult
} from "@modelcontextprotocol/sdk/types.js"
import * as Encoding from "effect/Encoding"
import type { ResolvedFile } from "../../content/Content.js"
import * as ToolFiles from "../../content/ToolFiles.js"
import type { StoredFile } from "../../domain/StoredFile.js"
import type { Contents, PromptMessage, ReadResult } from "../offer/McpOffers.js"

/** The key of a result that names its run. */
export const RUN_KEY = "effect-lexigram/run"

const isText = (mediaType: string): boolean => /^text\/|[/+]json$|^application\/xml$/.test(mediaType)

const textContents = (uri: string, mimeType: string, text: string) => ({ uri, mimeType, text })

const blobContents = (uri: string, mimeType: string, bytes: Uint8Array) => ({
  uri,
  mimeType,
  blob: Encoding.encodeBase64(bytes)
})

const contentsOf = ({ data, mimeType, uri }: Contents) =>
  typeof data === "string"
    ? textContents(uri, mimeType ?? "text/plain", data)
    : isText(mimeType ?? "")
      ? textContents(uri, mimeType as string, new TextDecoder().decode(data))
      : blobContents(uri, mimeType ?? "application/octet-stream", data)

/**
 * @category conversions
 */
export const toReadResult = (uri: string, mimeType: string | undefined, read: ReadResult): ReadResourceResult => ({
  contents:
    typeof read === "string" || read instanceof Uint8Array
      ? [contentsOf({ uri, mimeType, data: read })]
      : read.map(contentsOf)
})

const bytesBlock = (mimeType: string, name: string, bytes: Uint8Array): ContentBlock => {
  if (mimeType.startsWith("image/")) return { type: "image", mimeType, data: Encoding.encodeBase64(bytes) }
  if (mimeType.startsWith("audio/")) return { type: "audio", mimeType, data: Encoding.encodeBase64(bytes) }
  const uri = `attachment:${encodeURIComponent(name)}`
  return { type: "resource", resource: contentsOf({ uri, mimeType, data: bytes }) }
}

const linkBlock = (mimeType: string, name: string | undefined, uri: string): ContentBlock => ({
  type: "resource_link",
  uri,
  name: name ?? uri,
  ...(mimeType.endsWith("/*") ? {} : { mimeType })
})

const fileBlock = ({ data, fileName, mediaType }: ResolvedFile): ContentBlock =>
  data instanceof URL ? linkBlock(mediaType, fileName, data.href) : bytesBlock(mediaType, fileName ?? "file", data)

const promptBlock = (content: PromptMessage["content"]): ContentBlock => {
  if (typeof content === "string") return { type: "text", text: content }
  if (content.type === "text") return { type: "text", text: content.text }
  return content.type === "file" ? fileBlock(content) : { type: "resource", resource: contentsOf(content.resource) }
}

/**
 * @category conversions
 */
export const toPromptResult = (
  description: string | undefined,
  messages: string | ReadonlyArray<PromptMessage>
): GetPromptResult => ({
  ...(description === undefined ? {} : { description }),
  messages: (typeof messages === "string" ? [{ role: "user" as const, content: messages }] : messages).map(
    ({ content, role }) => ({ role, content: promptBlock(content) })
  )
})

/** Files whose bytes are no longer at hand are named by the text of the result alone. */
const storedBlocks = (file: StoredFile): ReadonlyArray<ContentBlock> => {
  const { data, fileName, mediaType } = file
  if ("url" in data) return [linkBlock(mediaType, fileName, data.url)]
  const bytes = ToolFiles.bytesOf(file)
  return bytes === undefined ? [] : [bytesBlock(mediaType, fileName ?? data.hash, bytes)]
}

/**
 * A text, and files beside it.
 *
 * @category conversions
 */
export const toContent = (text: string, files: ReadonlyArray<StoredFile> = []): Array<ContentBlock> => [
  { type: "text", text },
  ...files.flatMap(storedBlocks)
]

/**
 * A failure that the client's model reads.
 *
 * @category constructors
 */
export const failure = (text: string, runId?: string): CallToolResult => ({
  content: [{ type: "text", text }],
  isError: true,
  ...(runId === undefined ? {} : { _meta: { [RUN_KEY]: runId } })
})
