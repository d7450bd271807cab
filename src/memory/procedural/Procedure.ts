/**
 * A procedure: the steps that solved a task, and how often they did.
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
 * One step of a procedure: a tool and how it was used. Contains no values of a run (names, numbers, texts).
 *
 * @since 0.1.0
 * @category schemas
 */
export const ProcedureStep = Schema.Struct({
  tool: Schema.String,
  /** The names of the given parameters. */
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
  /** The task it was learned from, as given. */
  task: Schema.String,
  /** Equal signatures denote the same task. */
  signature: Schema.String,
  steps: Schema.Array(ProcedureStep),
  successes: Schema.NonNegativeInt,
  failures: Schema.NonNegativeInt,
  /** Milliseconds since the epoch. */
  createdAt: Schema.Finite,
  lastUsedAt: Schema.Finite,
  /** The run it was learned from. */
  runId: Schema.optional(RunId)
}).annotations({ identifier: `${NAME}/Procedure` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Procedure extends Schema.Schema.Type<typeof Procedure> {}

const maxParameters = 32

/** Matches parameter names of programs. The keys of a map from addresses to amounts are values and do not match. */
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
 * The steps of a run, from its tool calls: names of tools and parameters, no values. Omits calls that failed or never
 * ended unless `failed` is set: a successful run did not need them, a failed one is recognized by them. A call that
 * repeats the previous one adds no step but the note `repeated`.
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
 * Renders a procedure for a prompt on one line: its task, its steps in order, and how often it worked.
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
