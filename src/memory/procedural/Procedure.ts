/**
 * A way to do something: the steps that worked for a task, and how often they did.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { ToolExecutionRecord } from "../../domain/AgentResponse.js"
import { RunId } from "../../domain/Ids.js"
import { OwnerId } from "../entry/MemoryEntry.js"

const NAME = "effect-lexigram/memory/Procedure"

/**
 * @since 0.1.0
 * @category schemas
 */
export const ProcedureId = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(256),
  Schema.brand("ProcedureId"),
  Schema.annotations({ identifier: `${NAME}/ProcedureId` })
)
/**
 * @since 0.1.0
 * @category models
 */
export type ProcedureId = typeof ProcedureId.Type

/**
 * One step of a procedure: a tool and how it was used, in words. Values of a run (names, numbers, texts) are not part
 * of it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ProcedureStep = Schema.Struct({
  tool: Schema.String,
  /** The parameters that were given, by name. */
  parameters: Schema.Array(Schema.String),
  note: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/ProcedureStep` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ProcedureStep extends Schema.Schema.Type<typeof ProcedureStep> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Procedure = Schema.Struct({
  id: ProcedureId,
  ownerId: OwnerId,
  /** The task it was learned from, as it was put. */
  task: Schema.String,
  /** What makes tasks alike: equal signatures are one task. */
  signature: Schema.String,
  steps: Schema.Array(ProcedureStep),
  successes: Schema.NonNegativeInt,
  failures: Schema.NonNegativeInt,
  /** Milliseconds since the epoch. */
  createdAt: Schema.Finite,
  lastUsedAt: Schema.Finite,
  /** The run that taught it. */
  runId: Schema.optional(RunId)
}).annotations({ identifier: `${NAME}/Procedure` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Procedure extends Schema.Schema.Type<typeof Procedure> {}

const maxParameters = 32

/** Names of parameters as programs have them; a map from addresses to amounts has keys that are values. */
const identifier = /^[\p{L}_$][\p{L}\p{N}_$.-]{0,63}$/u

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

/**
 * Cuts a text to a length in code units. Never splits a surrogate pair.
 *
 * @internal
 * @since 0.1.0
 * @category conversions
 */
export const clipped = (text: string, length: number): string => {
  if (text.length <= length) return text
  const end = text.charCodeAt(length - 1)
  return text.slice(0, end >= 0xd800 && end < 0xdc00 ? length - 1 : length)
}

/**
 * Puts a text on one line and cuts it to a length.
 *
 * @internal
 * @since 0.1.0
 * @category conversions
 */
export const line = (text: string, length: number): string =>
  clipped(text.slice(0, length * 4).replace(controls, " "), length).trim()

/**
 * Sorts parameter names, removes duplicates and drops texts that do not look like a name.
 *
 * @internal
 * @since 0.1.0
 * @category conversions
 */
export const parameterNames = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from(new Set(names.filter((name) => identifier.test(name))))
    .sort()
    .slice(0, maxParameters)

/**
 * The steps of a run, from its calls of tools: names of tools and parameters, no values. Calls that failed or never
 * ended are left out unless asked for: a run that went well did not need them, and one that failed is known by them. A
 * call that follows one like it is the same step, with the note `repeated`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const stepsOf = (
  toolCalls: ReadonlyArray<ToolExecutionRecord>,
  options?: { readonly failed?: boolean | undefined } | undefined
): ReadonlyArray<ProcedureStep> => {
  const steps: Array<ProcedureStep> = []
  for (const { isFailure, name, params } of toolCalls) {
    if (isFailure !== false && options?.failed !== true) continue
    const step = {
      tool: name,
      parameters: parameterNames(Predicate.isReadonlyRecord(params) ? Object.keys(params) : [])
    }
    const last = steps.at(-1)
    if (last?.tool === step.tool && last.parameters.join(" ") === step.parameters.join(" ")) {
      steps[steps.length - 1] = { ...step, note: "repeated" }
    } else {
      steps.push(step)
    }
  }
  return steps
}

/**
 * A procedure for a prompt, in one line: the task it is from, its steps in their order and how often it worked.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = (procedure: Procedure): string => {
  const steps = procedure.steps.map(
    ({ note, parameters, tool }) => `${tool}(${parameters.join(", ")})${note === undefined ? "" : ` [${note}]`}`
  )
  const uses = procedure.successes + procedure.failures
  return line(
    `${JSON.stringify(line(procedure.task, 300))}: ${steps.join(" -> ")} (worked ${procedure.successes} of ${uses} times)`,
    4_000
  )
}
