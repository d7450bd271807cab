/**
 * The state of plans that strategies work through, and how it is shown.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { FinishReason, PlanStep } from "../../domain/AgentEvent.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Answer } from "../definition/Strategy.js"

export const Step = Schema.Struct({
  id: Schema.String,
  description: Schema.String,
  tool: Schema.optional(Schema.String),
  arguments: Schema.optional(Schema.Unknown),
  status: Schema.Literal("pending", "completed", "failed", "skipped")
})
export type Step = typeof Step.Type

export const Result = Schema.Struct({ id: Schema.String, description: Schema.String, result: Schema.String })
export type Result = typeof Result.Type

export const Failure = Schema.Struct({ id: Schema.String, description: Schema.String, error: Schema.String })
export type Failure = typeof Failure.Type

/** An answer is plain data already. */
export const Answered: Schema.Schema<Answer> = Schema.Any.annotations({
  identifier: "effect-lexigram/strategy/PlanState/Answered"
})

export const mark = (steps: ReadonlyArray<Step>, id: string, status: Step["status"]): ReadonlyArray<Step> =>
  steps.map((step) => (step.id === id ? { ...step, status } : step))

/** Marks the pending steps as skipped. */
export const skip = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> =>
  steps.map((step) => (step.status === "pending" ? { ...step, status: "skipped" } : step))

const toEvent = ({ description, id, status, tool }: Step): PlanStep => ({
  id,
  description,
  ...(tool === undefined ? {} : { tool }),
  status
})

/** Emits the current plan. */
export const emit = (steps: ReadonlyArray<Step>): Effect.Effect<void, never, Reasoning.Reasoning> =>
  Effect.flatMap(Reasoning.Reasoning, ({ run }) => run.emit({ _tag: "Plan", steps: steps.map(toEvent) }))

// Escapes the closing mark of a result, so that the rest of the text cannot pass for the prompt.
const fenced = (text: string): string => text.replace(/<(\/?result)>/gi, "<\\$1>")

/** Results for a prompt, each between marks, so that none passes for the prompt. */
export const results = (items: ReadonlyArray<Result>): string =>
  items.length === 0
    ? "None yet."
    : items
        .map(
          ({ description, id, result }) => `Step ${id}: ${fenced(description)}\n<result>\n${fenced(result)}\n</result>`
        )
        .join("\n\n")

/** Steps for a prompt. */
export const list = (steps: ReadonlyArray<Step>): string =>
  steps.length === 0
    ? "None."
    : steps
        .map(({ description, id, tool }) => `${id}. ${tool === undefined ? "" : `[TOOL:${tool}] `}${description}`)
        .join("\n")

/** Whether a tool has no parameters, so that no model is needed to fill them in. */
export const takesNothing = (parameters: { readonly [key: string]: unknown }): boolean => {
  const { properties } = parameters
  const none =
    properties === undefined || (typeof properties === "object" && Object.keys(properties ?? {}).length === 0)
  return none && parameters["type"] === "object" && parameters["additionalProperties"] === false
}

/** An answer whose text is already known. It is emitted at once for readers. */
export const emitAnswer = (
  text: string,
  reason: FinishReason
): Effect.Effect<Answer, LlmError | Fatality, Reasoning.Reasoning> =>
  Effect.gen(function* () {
    const { answer, run, task } = yield* Reasoning.Reasoning
    if (run.live && task.output === undefined) yield* run.emit({ _tag: "TextDelta", text })
    return yield* answer(text, reason)
  })

export const limited = (answer: Answer, limit: boolean): Answer =>
  limit && answer.reason === "completed" ? { ...answer, reason: "limit" } : answer

export const answerOf = (answer: Answer | undefined): Effect.Effect<Answer> =>
  answer === undefined
    ? // Every path to the end passes a node that sets it. Only a replaced node can omit it.
      Effect.dieMessage("The graph ended without an answer in its state")
    : Effect.succeed(answer)
