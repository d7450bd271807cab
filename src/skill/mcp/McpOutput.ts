/**
 * Bounds results of MCP tools, resources and prompts, and makes hidden characters visible.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as SecretText from "../../internal/text/SecretText.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import {
  type ContentBlock,
  McpError,
  type ResourceContents,
  type Service,
  type ToolInfo,
  type ToolResult
} from "./McpClient.js"
import * as McpText from "./McpText.js"

export type Output = string | Readonly<Record<string, unknown>> | ReadonlyArray<ContentBlock>

/** Maximum length of a tool's failure message. */
const MAX_FAILURE = 1000

/** The beginning of a third party's text, on one line. */
export const excerpt = (text: string, maxLength: number): string =>
  VisibleText.visible(SecretText.excerpt(text, { maxLength }))

const failure = (client: Service, reason: McpError["reason"], message: string, toolName?: string): McpError =>
  new McpError({
    server: client.name,
    reason,
    message: `The MCP server "${client.name}": ${message}`,
    ...(toolName === undefined ? {} : { toolName: excerpt(toolName, 128) })
  })

const bytesOf = (base64: string): number => Math.floor((base64.length * 3) / 4)

const described = (kind: string, mimeType: string | undefined, data: string): ContentBlock => ({
  type: "text",
  text: `[${kind}${mimeType === undefined ? "" : ` ${excerpt(mimeType, 64)}`}, ${bytesOf(data)} bytes]`
})

/** What becomes of bytes: base64 in the result, files beside it, or their description. */
export type Binary = "keep" | "show" | "describe"

/** The most characters of base64 that are shown: 20 MiB of bytes. */
const maxShown = 4 * Math.ceil((20 * 1_048_576) / 3)

/** Limits blocks to a total number of characters. */
export const bound = (
  content: ReadonlyArray<ContentBlock>,
  max: number,
  binary: Binary
): ReadonlyArray<ContentBlock> => {
  let left = max
  let shown = 0
  const result: Array<ContentBlock> = []
  const fits = (data: string): boolean => {
    if (binary !== "show") return binary === "keep" && data.length <= left
    const isShown = shown + data.length <= maxShown
    if (isShown) shown += data.length
    return isShown
  }
  const cost = (data: string): number => (binary === "show" ? 0 : data.length)
  const take = (block: ContentBlock, size: number): void => {
    left -= size
    result.push(block)
  }
  for (const [index, block] of content.entries()) {
    if (left <= 0) {
      take({ type: "text", text: `[${content.length - index} more parts]` }, 0)
      break
    }
    switch (block.type) {
      case "text": {
        const text = McpText.truncate(McpText.visible(block.text), left)
        take({ type: "text", text }, text.length + 16)
        break
      }
      case "image":
      case "audio": {
        const { data, mimeType, type } = block
        if (fits(data)) take({ type, data, mimeType: excerpt(mimeType, 64) }, cost(data) + 64)
        else take(described(type, mimeType, data), 64)
        break
      }
      case "resource": {
        const { blob, mimeType, text, uri } = block.resource
        if (blob !== undefined && !fits(blob)) {
          take(described(`resource ${excerpt(uri, 512)}`, mimeType, blob), 640)
          break
        }
        const resource = {
          uri: McpText.truncate(McpText.visible(uri), 4096),
          ...(mimeType === undefined ? {} : { mimeType: excerpt(mimeType, 64) }),
          ...(blob === undefined ? {} : { blob }),
          ...(text === undefined ? {} : { text: McpText.truncate(McpText.visible(text), left) })
        }
        take({ type: "resource", resource }, cost(blob ?? "") + (resource.text?.length ?? 0) + resource.uri.length)
        break
      }
      case "resource_link": {
        const { size, type, ...texts } = block
        const shown: Record<string, unknown> = {}
        let used = 0
        for (const [key, value] of Object.entries(texts)) {
          if (typeof value !== "string") continue
          const text = McpText.truncate(McpText.visible(value), 4096)
          shown[key] = text
          used += text.length
        }
        take({ type, ...shown, ...(size === undefined ? {} : { size }) } as ContentBlock, used)
      }
    }
  }
  return result
}

const textOf = (content: ReadonlyArray<ContentBlock>): string | undefined =>
  content.every((block) => block.type === "text") ? content.map(({ text }) => text).join("\n\n") : undefined

export interface Limits {
  readonly binary: Binary
  readonly max: number
}

/** The result of a tool; `isStructured` if it declares the schema of its structured content. */
export const ofTool = (
  client: Service,
  tool: ToolInfo,
  result: ToolResult,
  limits: Limits,
  isStructured: boolean
): Either.Either<Output, McpError> => {
  const { content, isError, structuredContent } = result
  if (isError) {
    const said = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ")
    return Either.left(failure(client, "ToolFailed", excerpt(said, MAX_FAILURE) || "it does not say why", tool.name))
  }
  if (structuredContent !== undefined && (isStructured || content.length === 0)) {
    return McpText.isWithin(structuredContent, limits.max)
      ? Either.right(McpText.visibleData(structuredContent))
      : Either.left(failure(client, "TooLarge", `its result is larger than ${limits.max} characters`, tool.name))
  }
  if (isStructured) {
    return Either.left(
      failure(client, "InvalidResponse", "its result lacks the structured content it declares", tool.name)
    )
  }
  return Either.right(ofContent(content, limits))
}

/** Blocks, as text if they are nothing else. */
export const ofContent = (content: ReadonlyArray<ContentBlock>, limits: Limits): Output => {
  const bounded = bound(content, limits.max, limits.binary)
  return textOf(bounded) ?? bounded
}

export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: string; readonly fileName?: string }

/** A block as a message part. */
export const partOf = (block: ContentBlock): Part => {
  switch (block.type) {
    case "text":
      return block
    case "image":
    case "audio":
      return { type: "file", mediaType: block.mimeType, data: block.data }
    case "resource": {
      const { blob, mimeType, text, uri } = block.resource
      return blob === undefined
        ? { type: "text", text: text ?? "" }
        : { type: "file", mediaType: mimeType ?? "application/octet-stream", data: blob, fileName: uri }
    }
    case "resource_link":
      return { type: "text", text: `${block.title ?? block.name}: ${block.uri}` }
  }
}

/** A resource; only its text if there is nothing else. */
export const ofResource = (contents: ReadonlyArray<ResourceContents>, limits: Limits): Output => {
  const blocks = contents.map((resource): ContentBlock => ({ type: "resource", resource }))
  const bounded = bound(blocks, limits.max, limits.binary)
  const [only, ...others] = bounded
  return only?.type === "resource" && others.length === 0 && only.resource.text !== undefined
    ? only.resource.text
    : bounded
}
