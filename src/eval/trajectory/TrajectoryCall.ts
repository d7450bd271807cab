/**
 * The calls that a run is expected to make.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { ToolExecutionRecord } from "../../domain/ToolExecutionRecord.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import { isPlainObject } from "../../internal/text/PlainObject.js"
import * as Observation from "../../tool/definition/Observation.js"

const EXACT = Symbol.for("effect-lexigram/testing/Trajectory/Exact")

/** Parameters that are these and no others. */
export interface Exact {
  readonly [EXACT]: unknown
}

export type Params =
  | ((params: any) => boolean)
  | Schema.Schema<any, any, never>
  | Exact
  | { readonly [name: string]: unknown }

export type Call = string | readonly [name: string, params: Params]

export const exactly = (params: unknown): Exact => ({ [EXACT]: params })

const isExact = (params: Params): params is Exact => typeof params === "object" && EXACT in params

/** Whether a value has all that a part has. */
const hasPart = (value: unknown, part: unknown): boolean => {
  if (Array.isArray(part)) {
    return Array.isArray(value) && value.length === part.length && part.every((one, at) => hasPart(value[at], one))
  }
  if (!isPlainObject(part)) return Object.is(value, part)
  return (
    isPlainObject(value) &&
    Object.keys(part).every((name) => Object.hasOwn(value, name) && hasPart(value[name], part[name]))
  )
}

const fits = (sent: unknown, params: Params): boolean => {
  if (Schema.isSchema(params)) return Either.isRight(Schema.decodeUnknownEither(params as Schema.Schema<any>)(sent))
  if (typeof params === "function") return params(sent)
  return isExact(params)
    ? CanonicalJson.stringify(sent) === CanonicalJson.stringify(params[EXACT])
    : hasPart(sent, params)
}

/** Whether a call is this one. */
export const matches = ({ name, params }: ToolExecutionRecord, call: Call): boolean =>
  typeof call === "string" ? name === call : name === call[0] && fits(params, call[1])

const paramsText = (params: Params): string => {
  if (Schema.isSchema(params)) return String(params)
  if (typeof params === "function") return "…"
  return isExact(params) ? `exactly ${Observation.stringify(params[EXACT])}` : (Observation.stringify(params) ?? "…")
}

/** The call as a person reads it. */
export const textOf = (call: Call): string => (typeof call === "string" ? call : `${call[0]}(${paramsText(call[1])})`)
