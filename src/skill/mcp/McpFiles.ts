/**
 * Images, audio and resources of MCP servers as files that a model is shown beside the result of a tool.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Content from "../../content/Content.js"
import * as ContentSource from "../../content/ContentSource.js"
import * as ToolContent from "../../content/ToolContent.js"
import type { ContentBlock } from "./McpClient.js"
import * as McpOutput from "./McpOutput.js"

const nameOf = (uri: string): { readonly fileName?: string } => {
  const name = uri.split(/[?#]/, 1)[0]?.split("/").at(-1) ?? ""
  return ContentSource.isFileName(name) ? { fileName: name } : {}
}

const isBinary = (block: ContentBlock): boolean =>
  block.type === "image" || block.type === "audio" || (block.type === "resource" && block.resource.blob !== undefined)

/** A file, or a line in place of bytes that are not what the server says. */
const fileOf = (block: ContentBlock): Effect.Effect<Content.Resolved> => {
  const part = McpOutput.partOf(block)
  if (part.type === "text") return Effect.succeed(part)
  const { data, fileName, mediaType } = part
  const mediaTypeOf = mediaType === "application/octet-stream" ? {} : { mediaType }
  // Decoded here: `Content.file` would take a text of the server for an address, which a provider then fetches.
  const file = Effect.flatMap(Encoding.decodeBase64(data), (bytes) =>
    Content.file(bytes, { ...mediaTypeOf, ...nameOf(fileName ?? "") })
  )
  return Effect.match(file, {
    onFailure: ({ message }) => Content.text(`[a file of the type ${mediaType} that cannot be shown: ${message}]`),
    onSuccess: (file) => file
  })
}

/** Separates the bytes of an output from its texts. Structured content keeps the files that came with it. */
export const show = (
  output: McpOutput.Output,
  content: ReadonlyArray<ContentBlock>,
  limits: McpOutput.Limits
): Effect.Effect<McpOutput.Output | ToolContent.ToolContent> => {
  if (limits.binary !== "show") return Effect.succeed(output)
  const isList = Array.isArray(output)
  const blocks = isList ? (output as ReadonlyArray<ContentBlock>) : McpOutput.bound(content, limits.max, "show")
  const binary = blocks.filter(isBinary)
  if (binary.length === 0) return Effect.succeed(output)
  return Effect.map(Effect.forEach(isList ? blocks : binary, fileOf), (parts) => {
    const files = parts.filter((part) => part.type === "file")
    const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
    return ToolContent.make(files, isList ? (texts.length === 0 ? undefined : texts.join("\n\n")) : output)
  })
}

/** The same for an output that is read within limits. */
export const showAll = <E>(
  read: (limits: McpOutput.Limits) => Effect.Effect<McpOutput.Output, E>,
  limits: McpOutput.Limits
): Effect.Effect<McpOutput.Output | ToolContent.ToolContent, E> =>
  Effect.flatMap(read(limits), (output) => show(output, [], limits))
