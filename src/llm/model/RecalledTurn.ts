/**
 * The tool calls of an earlier turn with their results, as messages.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as JsonText from "../../internal/text/JsonText.js"
import type { Message } from "./LlmClient.js"

/**
 * @category models
 */
export interface RecalledCall {
  /** Its place in the turn. */
  readonly index: number
  /** Of the tool itself. */
  readonly name: string
  readonly params: unknown
  readonly result: string
  readonly isFailure: boolean
}

/** Providers require an object. */
const paramsOf = (params: unknown): unknown => {
  if (Predicate.isReadonlyRecord(params)) return params
  const parsed = typeof params === "string" ? Either.getOrUndefined(JsonText.read(params)) : undefined
  return Predicate.isReadonlyRecord(parsed) ? parsed : { input: params ?? null }
}

/**
 * The calls of the turn at this depth, and their results.
 *
 * @category constructors
 */
export const messages = (depth: number, calls: ReadonlyArray<RecalledCall>): ReadonlyArray<Message> => {
  if (calls.length === 0) return []
  const id = (index: number) => `t${depth}c${index}`
  return [
    {
      role: "assistant",
      content: calls.map(({ index, name, params }) => ({
        type: "tool-call",
        id: id(index),
        name,
        params: paramsOf(params),
        providerExecuted: false
      }))
    },
    {
      role: "tool",
      content: calls.map(({ index, isFailure, name, result }) => ({
        type: "tool-result",
        id: id(index),
        name,
        isFailure,
        result,
        providerExecuted: false
      }))
    }
  ]
}
