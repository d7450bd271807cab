/**
 * Asks a model which known person or thing a mention means.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as Excerpt from "../../internal/text/Excerpt.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import * as LlmTimeout from "../../llm/LlmTimeout.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as SemanticPrompts from "../../prompt/defaults/SemanticPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import { FactExtractionError } from "../entry/MemoryError.js"
import { EntityMatcher, type Service, type Undecided } from "./EntityMatcher.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Override the settings of the call: temperature 0 and at most 500 tokens. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** Timeout of the call. Default 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
}

const maxName = 200
const maxText = 500

const Answer = Schema.Struct({
  matches: Schema.Array(Schema.Struct({ mention: Schema.Int, candidate: Schema.NullOr(Schema.Int) }))
})
const decode = Schema.decodeUnknownEither(Answer)
const responseFormat: LlmClient.ResponseFormat = {
  type: "json",
  name: "matches",
  schema: OutputSchema.make(Answer).jsonSchema
}

const failed = (why: string): FactExtractionError =>
  new FactExtractionError({ message: `The model matched no names: ${why}` })

/** From this number of mentions on, an answer that gives all of them to one name is refused. */
const suspicious = 4

/**
 * The answers for mentions of the call, numbered from 1. Numbers that do not exist make the whole answer unreadable.
 * Two answers for one mention that differ count as none.
 */
const matchesIn = (
  answer: typeof Answer.Type,
  undecided: ReadonlyArray<Undecided>
): Either.Either<ReadonlyArray<number | undefined>, FactExtractionError> => {
  const matched = new Map<number, number | undefined>()
  for (const { candidate, mention } of answer.matches) {
    const one = undecided[mention - 1]
    if (one === undefined || (candidate !== null && one.candidates[candidate - 1] === undefined)) {
      return Either.left(failed("its answer names what it was not asked"))
    }
    const given = candidate === null ? undefined : candidate - 1
    matched.set(mention - 1, matched.has(mention - 1) && matched.get(mention - 1) !== given ? undefined : given)
  }
  const found = undecided.map((_, at) => matched.get(at))
  const names = new Set(
    found.map((candidate, at) => (candidate === undefined ? at : undecided[at]?.candidates[candidate]))
  )
  return undecided.length >= suspicious && names.size === 1 && found.every((candidate) => candidate !== undefined)
    ? Either.left(failed("its answer makes all one"))
    : Either.right(found)
}

/**
 * Asks in one call for all mentions. Mentions and texts are data in it. In a run the call is one of the run's, within
 * its limits and its budget.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (given: LlmClient.Service, options: Options = {}): Service => {
  const client = LlmTimeout.wrap({ whole: options.timeout ?? "30 seconds" })(given)
  const settings = ModelSettings.merge({ temperature: 0, maxTokens: 500 }, options.settings)
  return {
    match: Effect.fnUntraced(function* (undecided: ReadonlyArray<Undecided>) {
      if (undecided.length === 0) return []
      const prompts = yield* PromptLibrary.PromptLibrary
      const step = SemanticPrompts.Match
      const { system, user } = prompts.render(step, {
        mentions: DataDocument.stringify({
          mentions: undecided.map(({ candidates, mention, text }, at) => ({
            n: at + 1,
            name: mention.slice(0, maxName),
            text: Excerpt.ends(text, maxText),
            candidates: candidates.map((name, index) => ({ n: index + 1, name: name.slice(0, maxName) }))
          }))
        }),
        output_format: step.textFormat
      })
      const messages: ReadonlyArray<LlmClient.Message> = [
        { role: "system", content: system },
        { role: "user", content: [{ type: "text", text: user }] }
      ]
      const response = yield* Effect.mapError(client.complete({ messages, responseFormat, settings }), (error) =>
        // Only the name of the error: providers may quote their input in the message.
        failed(error._tag)
      )
      const answer = Either.flatMap(JsonText.read(LlmClient.text(response)), decode)
      return yield* Either.isRight(answer)
        ? matchesIn(answer.right, undecided)
        : Either.left(failed("its answer cannot be read"))
    })
  }
}

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultMemory, ModelEntityMatcher } from "effect-lexigram/memory"
 *
 * // "Bob" may be the known "Robert Miller": the model in context decides.
 * const memory = DefaultMemory.layer({ matcher: ModelEntityMatcher.layer({ timeout: "10 seconds" }) })
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<EntityMatcher, never, LlmClient.LlmClient> =>
  Layer.effect(
    EntityMatcher,
    Effect.map(LlmClient.LlmClient, (client) => make(client, options))
  )
