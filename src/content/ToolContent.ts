/**
 * Results of tools that have files: images, documents, audio.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { ResolvedFile } from "./Content.js"
import { isToolContent, type ToolContent as Model, TypeId } from "./ToolFiles.js"

export { from, isToolContent, TypeId } from "./ToolFiles.js"

/**
 * A value, encoded as that of any tool, and files that the model is shown beside it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolContent extends Model {}

/**
 * The `success` of a tool that returns files, also as a member of a union. Its encoding is itself.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolContent: Schema.Schema<ToolContent> = Schema.declare(isToolContent, {
  identifier: "effect-lexigram/content/ToolContent"
})

/**
 * A result of files, with a value that the model reads beside them.
 *
 * @example
 * ```ts
 * import { Content, ToolContent } from "effect-lexigram/content"
 * import { Tool } from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 *
 * const chart = Tool.make("chart", {
 *   description: "Draws a chart",
 *   success: ToolContent.ToolContent,
 *   handler: () =>
 *     Effect.map(Content.image(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])), (image) =>
 *       ToolContent.make([image], { title: "Sales" })
 *     )
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (files: ReadonlyArray<ResolvedFile>, value?: unknown): ToolContent => ({
  [TypeId]: true,
  value,
  files
})
