/**
 * The decoder of provider answers: its shape, and lenient readers of JSON from outside.
 *
 * @private
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type * as Usage from "../../domain/Usage.js"
import type { LlmPart } from "../../llm/model/LlmClient.js"

/**
 * `failure` is the body of the error that ended the answer, as an error answer would have had it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Decoded {
  readonly parts: ReadonlyArray<LlmPart>
  readonly failure?: string | undefined
  /** The usage reported so far, if this event reported any. */
  readonly usage?: Usage.Usage | undefined
}

/**
 * Reads one answer: either one whole body or its events in order. It never throws, and skips what it does not know; an
 * answer it cannot read has no `finish` part.
 *
 * @since 0.1.0
 * @category models
 */
export interface WireDecoder {
  readonly body: (body: unknown) => Decoded
  readonly event: (event: unknown) => Decoded
}

/**
 * @since 0.1.0
 * @category models
 */
export type Json = { readonly [key: string]: unknown }

/**
 * @since 0.1.0
 * @category guards
 */
export const record = (value: unknown): Json | undefined =>
  Predicate.isReadonlyRecord(value) ? (value as Json) : undefined

/**
 * @since 0.1.0
 * @category guards
 */
export const string = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/**
 * @since 0.1.0
 * @category guards
 */
export const number = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

/**
 * The part that names an answer and its model; `undefined` if the answer names neither.
 *
 * @since 0.1.0
 * @category conversions
 */
export const metadataPart = (answer: Json): LlmPart | undefined => {
  const id = string(answer.id)
  const model = string(answer.model)
  if (id === undefined && model === undefined) return undefined
  return {
    type: "response-metadata",
    ...(id === undefined ? {} : { id }),
    ...(model === undefined ? {} : { modelId: model })
  }
}

/**
 * The objects of a list; none if it is not a list.
 *
 * @since 0.1.0
 * @category guards
 */
export const records = (value: unknown): ReadonlyArray<Json> =>
  Array.isArray(value) ? value.filter((item) => record(item) !== undefined) : []

/**
 * The texts of a list; none if it is not a list.
 *
 * @since 0.1.0
 * @category guards
 */
export const strings = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

/**
 * Parses JSON; `undefined` if the text is not JSON. Keys that would change a prototype are dropped.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parse = (text: string): unknown => {
  try {
    return text.includes("__proto__")
      ? JSON.parse(text, (key, value) => (key === "__proto__" ? undefined : value))
      : JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The parameters of a call: the decoded JSON, the raw text if it is not JSON, no parameters if it is empty.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parameters = (text: string): unknown => {
  if (text.trim() === "") return {}
  const value = parse(text)
  return value === undefined ? text : value
}

/**
 * The content of an error inside an answer, as the body of an error answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const failure = (error: unknown): string => {
  const outer = record(error) ?? {}
  const inner = record(outer.error) ?? outer
  const code = string(inner.code)
  // The `type` of an event names the event: that of an error says nothing about the error.
  const type = inner.type === "error" ? undefined : string(inner.type)
  const requestId = string(outer.request_id)
  return JSON.stringify({
    error: {
      ...(type === undefined ? {} : { type }),
      ...(code === undefined ? {} : { code }),
      message: string(inner.message) ?? string(outer.error) ?? string(error) ?? ""
    },
    ...(requestId === undefined ? {} : { request_id: requestId })
  })
}
