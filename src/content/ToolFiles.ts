/**
 * Files of tool results as messages carry them: by reference. The bytes are held beside the reference for as long as a
 * message has it, so that events, journals and checkpoints stay small.
 *
 * @private
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import type { StoredFile } from "../domain/StoredFile.js"
import type { Resolved, ResolvedFile } from "./Content.js"

const held = new WeakMap<StoredFile, Uint8Array>()

/** Keeps the bytes of a reference in memory. */
export const hold = (file: StoredFile, bytes: Uint8Array): StoredFile => {
  held.set(file, bytes)
  return file
}

/** The bytes of a reference, if they are in memory. */
export const bytesOf = (file: StoredFile): Uint8Array | undefined => held.get(file)

/** Options of the part of a message that has the result. */
export const optionsOf = (
  files: ReadonlyArray<StoredFile> | undefined
): { readonly options?: Prompt.ProviderOptions } => (files === undefined ? {} : { options: { lexigram: { files } } })

type Part = { readonly options?: Prompt.ProviderOptions | undefined }

/** The references of a result. */
export const refsOf = ({ options }: Part): ReadonlyArray<StoredFile> =>
  (options?.lexigram?.files ?? []) as ReadonlyArray<StoredFile>

/** Whether a message of a user has a file, or one of tools a result with files. */
export const hasFiles = ({ content, role }: Prompt.MessageEncoded): boolean =>
  role === "tool"
    ? content.some(({ options }) => options?.lexigram !== undefined)
    : role === "user" && typeof content !== "string" && content.some(({ type }) => type === "file")

/** The files of a result whose bytes are at hand or have a URL. The text of the result names all of them. */
export const read = (part: Part): ReadonlyArray<Prompt.FilePartEncoded> =>
  refsOf(part).flatMap((file) => {
    const url = "url" in file.data && URL.canParse(file.data.url) ? new URL(file.data.url) : undefined
    const data = held.get(file) ?? url
    const { fileName, mediaType } = file
    return data === undefined
      ? []
      : [{ type: "file", mediaType, data, ...(fileName === undefined ? {} : { fileName }) }]
  })

/** The text of a file of text. */
export const textOf = ({ data, mediaType }: Prompt.FilePartEncoded): string | undefined =>
  data instanceof Uint8Array && /^text\/|^application\/json$/.test(mediaType)
    ? new TextDecoder().decode(data)
    : undefined

const textFirst = (file: Prompt.FilePartEncoded): Prompt.UserMessagePartEncoded => {
  const text = textOf(file)
  return text === undefined ? file : { type: "text", text }
}

/** The files of results as parts of a user's message, for APIs whose tool messages are text: with `urls` all. */
export const shown = (
  results: ReadonlyArray<Prompt.ToolResultPartEncoded>,
  urls = true
): Array<Prompt.UserMessagePartEncoded> =>
  results.flatMap((part) => {
    const files = read(part).filter(({ data }) => urls || !(data instanceof URL))
    return files.length === 0
      ? []
      : [{ type: "text", text: `The files that ${part.name} (${part.id}) returned:` }, ...files.map(textFirst)]
  })

/** The options of a part for its provider. */
export const withoutFiles = (options: Prompt.ProviderOptions | undefined): Prompt.ProviderOptions | undefined => {
  if (options?.lexigram === undefined) return options
  const { lexigram: _, ...rest } = options
  return Object.keys(rest).length === 0 ? undefined : rest
}

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/content/ToolContent")

/**
 * A value, encoded as that of any tool, and files that the model is shown beside it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolContent {
  readonly [TypeId]: true
  /** Plain data or text; `undefined` if there are only files. */
  readonly value: unknown
  readonly files: ReadonlyArray<ResolvedFile>
}

const isFile = (u: unknown): u is ResolvedFile => {
  if (typeof u !== "object" || u === null) return false
  const { data, mediaType, type } = u as { readonly [key: string]: unknown }
  return type === "file" && typeof mediaType === "string" && (data instanceof Uint8Array || data instanceof URL)
}

const isPart = (u: unknown): u is Resolved =>
  isFile(u) || (typeof u === "object" && u !== null && (u as { readonly type?: unknown }).type === "text")

/**
 * @since 0.1.0
 * @category guards
 */
export const isToolContent = (u: unknown): u is ToolContent => typeof u === "object" && u !== null && TypeId in u

/**
 * The content of a result of a tool: a `ToolContent`, a file, or a list of texts and files. `undefined` for any other
 * value.
 *
 * @since 0.1.0
 * @category conversions
 */
export const from = (u: unknown): ToolContent | undefined => {
  if (isToolContent(u)) return u
  if (isFile(u)) return { [TypeId]: true, value: undefined, files: [u] }
  if (!Array.isArray(u) || !u.some(isFile) || !u.every(isPart)) return undefined
  const texts = u.flatMap((part) => (part.type === "text" ? [part.text] : []))
  const value = texts.length === 0 ? undefined : texts.join("\n\n")
  return { [TypeId]: true, value, files: u.filter(isFile) }
}
