/**
 * Returns reasoning to a chat-completions server in the next turn, in the field it came in, with the extra content of
 * its tool calls. Both travel as metadata of the answer's parts, marked with their provider, and are returned to that
 * provider alone.
 *
 * @private
 * @since 0.1.0
 */

import type * as Prompt from "@effect/ai/Prompt"
import * as Predicate from "effect/Predicate"

type Json = { readonly [key: string]: unknown }

const key = "chatCompletions"
const fields = ["reasoning_content", "reasoning"] as const

/**
 * The field that reasoning text came in.
 *
 * @since 0.1.0
 * @category models
 */
export type Field = (typeof fields)[number]

/**
 * The fields of a body that ask for reasoning, and whether they ask for none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Asked {
  readonly fields: Json
  readonly isOff: boolean
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const metadata = (
  provider: string,
  values: {
    readonly field?: Field | undefined
    readonly details?: ReadonlyArray<unknown> | undefined
    readonly extraContent?: unknown
  }
): { readonly [key]: Json } => ({
  [key]: {
    provider,
    ...(values.field === undefined ? {} : { field: values.field }),
    ...(values.details === undefined || values.details.length === 0 ? {} : { details: values.details }),
    ...(values.extraContent === undefined ? {} : { extraContent: values.extraContent })
  }
})

const read = (options: Prompt.ProviderOptions | undefined, provider: string): Json | undefined => {
  const values = options?.[key]
  return values !== undefined && values.provider === provider ? values : undefined
}

/**
 * The extra content of a tool call from this provider.
 *
 * @since 0.1.0
 * @category decoding
 */
export const extraContent = (options: Prompt.ProviderOptions | undefined, provider: string): unknown =>
  read(options, provider)?.extraContent

const texts = ["text", "summary"] as const

/**
 * Appends streamed `reasoning_details`: consecutive pieces of one entry (same type and index) are joined.
 *
 * @since 0.1.0
 * @category combining
 */
export const append = (into: Array<Json>, pieces: ReadonlyArray<unknown>): void => {
  for (const piece of pieces) {
    if (!Predicate.isReadonlyRecord(piece)) continue
    const last = into[into.length - 1]
    const joinable =
      last !== undefined &&
      last.type === piece.type &&
      last.index === piece.index &&
      (last.id ?? undefined) === (piece.id ?? last.id ?? undefined) &&
      typeof piece.data !== "string"
    if (!joinable) {
      into.push(piece)
      continue
    }
    const joined: Record<string, unknown> = { ...last }
    for (const [name, value] of Object.entries(piece)) {
      if (value === null || value === undefined) continue
      const previous = joined[name]
      const isText = texts.some((text) => text === name)
      Object.defineProperty(joined, name, {
        value: isText && typeof previous === "string" && typeof value === "string" ? previous + value : value,
        enumerable: true,
        configurable: true,
        writable: true
      })
    }
    into[into.length - 1] = joined
  }
}

/**
 * The text of `reasoning_details`, if they contain any.
 *
 * @since 0.1.0
 * @category decoding
 */
export const text = (details: ReadonlyArray<unknown>): string => {
  let result = ""
  for (const detail of details) {
    if (!Predicate.isReadonlyRecord(detail)) continue
    for (const name of texts) {
      const value = detail[name]
      if (typeof value === "string") result += value
    }
  }
  return result
}

/**
 * The fields of an assistant message that return its reasoning: `reasoning_details` if the server sent them, else the
 * text in the field it came in. Reasoning of another provider is omitted.
 *
 * @since 0.1.0
 * @category encoding
 */
export const toFields = (parts: ReadonlyArray<Prompt.ReasoningPartEncoded>, provider: string): Json => {
  const details: Array<Json> = []
  let field: Field | undefined
  let joined = ""
  for (const part of parts) {
    const values = read(part.options, provider)
    if (values === undefined) continue
    const given = values.details
    if (Array.isArray(given)) append(details, given)
    field = fields.find((name) => name === values.field) ?? field
    joined += part.text
  }
  if (details.length > 0) return { reasoning_details: details }
  return field === undefined || joined === "" ? {} : { [field]: joined }
}
