/**
 * Brings the text of an answer into the output shape of its task.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as JsonText from "../../internal/text/JsonText.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import { Fatality } from "../../tool/ToolRunner.js"
import type * as ModelCall from "../definition/ModelCall.js"
import type { OutputSpec } from "../definition/Strategy.js"
import { OutputValidationError } from "../definition/StrategyError.js"

export interface Structured {
  readonly text: string
  readonly output: unknown
}

const invalid = (strategyName: string, text: string, issues: string, attempts: number): Fatality =>
  new Fatality({
    toolName: "",
    error: new OutputValidationError({
      strategyName,
      text: text.slice(0, 2000),
      issues: issues.slice(0, 2000),
      attempts,
      message: `The answer does not fit the output schema after ${attempts} attempts: ${issues.slice(0, 500)}`,
      hint: "Simplify the schema, describe its fields, or raise the output retries"
    })
  })

/** The conversation with the rejected text and what is wrong with it. */
const withIssues = (
  messages: ReadonlyArray<LlmClient.Message>,
  text: string,
  issues: string
): ReadonlyArray<LlmClient.Message> => [
  ...messages,
  ...(text === "" ? [] : [{ role: "assistant" as const, content: text }]),
  {
    role: "user",
    content: `Give the answer as JSON that fits the schema, and nothing else. What is wrong so far: ${issues.slice(0, 2000)}`
  }
]

const decoded = (spec: OutputSpec, text: string): Effect.Effect<Structured, string> =>
  Effect.map(
    Effect.flatMap(Either.mapLeft(JsonText.read(text), String), (value) => spec.decode(value)),
    (output) => ({ text, output })
  )

/** Decodes the text that an answer has become. One that does not fit fails with `OutputValidationError`. */
export const again = (spec: OutputSpec, strategyName: string, text: string): Effect.Effect<Structured, Fatality> =>
  Effect.mapError(decoded(spec, text), (issues) => invalid(strategyName, text, issues, 1))

/**
 * Decodes a text by the output specification. A text that does not fit goes back to the model with the issues, in a
 * call that can only answer in that shape. After the task's retries it fails with `OutputValidationError`.
 */
export const make = (
  model: ModelCall.Model,
  spec: OutputSpec,
  options: {
    readonly strategyName: string
    readonly step: number
    readonly messages: ReadonlyArray<LlmClient.Message>
    readonly text: string
  }
): Effect.Effect<Structured, LlmError | Fatality> => {
  const responseFormat = { type: "json", name: spec.name, schema: spec.jsonSchema } as const
  const attempt = (
    text: string,
    messages: ReadonlyArray<LlmClient.Message>,
    count: number
  ): Effect.Effect<Structured, LlmError | Fatality> =>
    Effect.matchEffect(decoded(spec, text), {
      onSuccess: Effect.succeed,
      onFailure: (issues) => {
        if (count > spec.retries) return Effect.fail(invalid(options.strategyName, text, issues, count))
        const next = withIssues(messages, text, issues)
        return Effect.flatMap(
          model.call({ messages: next, responseFormat }, { step: options.step, deltas: () => [] }),
          (response) => attempt(LlmClient.text(response), next, count + 1)
        )
      }
    })
  return attempt(options.text, options.messages, 1)
}
