/**
 * Assembles tool calls from the deltas of a stream, however a server numbers, names and splits them.
 *
 * @private
 * @since 0.1.0
 */

import * as Predicate from "effect/Predicate"
import type { LlmPart } from "../../llm/model/LlmClient.js"
import * as ChatCompletionsReasoning from "./ChatCompletionsReasoning.js"

type Json = { readonly [key: string]: unknown }

interface Call {
  readonly index: number | undefined
  /** The server's id. */
  readonly given: string | undefined
  /** The id of our parts. */
  readonly id: string
  name: string
  text: string
  /** Arguments that came as a JSON value are complete. */
  whole: boolean
  started: boolean
  touched: number
  extra: unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ToolCalls {
  /** True if the deltas contain a call without an id, so that {@link ToolCalls.push} needs a seed to make one from. */
  readonly needsSeed: (deltas: ReadonlyArray<unknown>, isWhole: boolean) => boolean
  /** Takes the `tool_calls` of one delta, or of a whole message, in which each is a separate call. */
  readonly push: (deltas: ReadonlyArray<unknown>, isWhole: boolean, seed: string, into: Array<LlmPart>) => void
  /** Ends every call: its parameters are complete. */
  readonly end: (into: Array<LlmPart>) => void
  readonly size: () => number
}

// Checking whether arguments are complete reads them all: long ones count as incomplete.
const maxChecked = 65_536

const idOf = (delta: Json): string | undefined => {
  const id = delta.id
  return typeof id === "string" && id !== "" ? id : typeof id === "number" ? String(id) : undefined
}

const isWholeJson = (text: string): boolean => {
  if (text.length > maxChecked) return false
  const last = text.charCodeAt(text.length - 1)
  if (last !== 125 && last !== 93) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Decoded JSON, `{}` for nothing, or the text itself if it is not JSON. */
const paramsOf = (text: string): unknown => {
  if (text.trim() === "") return {}
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return text
  }
}

/**
 * The call that a delta continues: the one with its index, else with its id, else the last one. It begins a new call if
 * it names a tool and has another id, follows complete arguments, or is beside it in one delta, because some servers
 * number every call 0, or not at all, or give every call the same id. An id that changes without a name is the same
 * call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: { readonly provider: string }): ToolCalls => {
  const calls: Array<Call> = []
  const byIndex = new Map<number, Call>()
  const byId = new Map<string, Call>()
  const used = new Set<string>()
  let round = 0

  const begins = (call: Call, delta: Json, name: string, given: string | undefined, args: unknown): boolean => {
    if (name === "") return false
    const isSame = given !== undefined && given === call.given
    if (given !== undefined && call.given !== undefined && !isSame) return true
    if (call.whole) return true
    if (call.name === "") return false
    const another = typeof args === "string" ? args.startsWith("{") : args !== undefined && args !== null
    if (another && isWholeJson(call.text)) return true
    if (isSame || name === call.name) return typeof delta.index !== "number" && call.touched === round
    return typeof delta.index !== "number" || call.text !== ""
  }
  const find = (delta: Json, name: string, given: string | undefined, args: unknown): Call | undefined => {
    const index = delta.index
    const last = calls[calls.length - 1]
    const call =
      typeof index === "number"
        ? byIndex.get(index)
        : given === undefined
          ? last
          : (byId.get(given) ?? (name === "" ? last : undefined))
    return call === undefined || begins(call, delta, name, given, args) ? undefined : call
  }
  const uniqueId = (given: string | undefined, seed: string): string => {
    const base = given ?? `call_${calls.length}_${seed.replace(/[^A-Za-z0-9]/g, "").slice(-24)}`
    let id = base
    for (let n = calls.length; used.has(id); n++) id = `${base}_${n}`
    used.add(id)
    return id
  }
  const open = (index: number | undefined, given: string | undefined, seed: string): Call => {
    const call: Call = {
      index,
      given,
      id: uniqueId(given, seed),
      name: "",
      text: "",
      whole: false,
      started: false,
      touched: round,
      extra: undefined
    }
    calls.push(call)
    if (index !== undefined) byIndex.set(index, call)
    if (given !== undefined) byId.set(given, call)
    return call
  }
  const start = (call: Call, into: Array<LlmPart>) => {
    if (call.started) return
    call.started = true
    into.push({ type: "tool-params-start", id: call.id, name: call.name })
  }
  const fieldsOf = (delta: Json) => {
    const fn = Predicate.isReadonlyRecord(delta.function) ? delta.function : {}
    const name = typeof fn.name === "string" ? fn.name : ""
    return { name, args: fn.arguments, given: idOf(delta) }
  }

  return {
    needsSeed: (deltas, isWhole) =>
      deltas.some((delta) => {
        if (!Predicate.isReadonlyRecord(delta)) return false
        const { args, given, name } = fieldsOf(delta)
        return given === undefined && (isWhole || find(delta, name, given, args) === undefined)
      }),
    push: (deltas, isWhole, seed, into) => {
      round++
      for (const delta of deltas) {
        if (!Predicate.isReadonlyRecord(delta)) continue
        const { args, given, name } = fieldsOf(delta)
        const index = typeof delta.index === "number" ? delta.index : undefined
        const call = (isWhole ? undefined : find(delta, name, given, args)) ?? open(index, given, seed)
        call.touched = round
        if (name !== "" && name !== call.name && !call.started) call.name += name
        if (delta.extra_content !== undefined && delta.extra_content !== null) call.extra = delta.extra_content
        if (args === undefined || args === null || args === "") continue
        const text = typeof args === "string" ? args : JSON.stringify(args)
        if (typeof args !== "string") call.whole = true
        call.text += text
        start(call, into)
        into.push({ type: "tool-params-delta", id: call.id, delta: text })
      }
    },
    end: (into) => {
      for (const call of calls) {
        if (call.name === "" && call.text === "") continue
        start(call, into)
        into.push(
          { type: "tool-params-end", id: call.id },
          {
            type: "tool-call",
            id: call.id,
            name: call.name,
            params: paramsOf(call.text),
            ...(call.extra === undefined
              ? {}
              : { metadata: ChatCompletionsReasoning.metadata(options.provider, { extraContent: call.extra }) })
          }
        )
      }
    },
    size: () => calls.length
  }
}
