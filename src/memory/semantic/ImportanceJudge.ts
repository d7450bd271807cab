/**
 * Judges how important it is to remember entries, by rules or by a model.
 *
 * Importance counts in the ranking of recalled entries, and consolidation removes unimportant ones that are not
 * recalled.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as Count from "../../internal/Count.js"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as Excerpt from "../../internal/text/Excerpt.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import * as LlmTimeout from "../../llm/LlmTimeout.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as SemanticPrompts from "../../prompt/defaults/SemanticPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as Importance from "./Importance.js"

/**
 * A judge gave no importance: its model failed, or its answer cannot be read.
 *
 * @since 0.1.0
 * @category errors
 */
export class ImportanceError extends ErrorCode.TaggedError<ImportanceError>(
  "effect-lexigram/memory/ImportanceJudge/ImportanceError"
)("ImportanceError", ErrorCode.fields("LEX_ERR_MEM_101")) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface ImportanceJudge {
  /** The importance of each entry, 0 to 1, in their order. The client is that of the run. */
  readonly judge: (
    entries: ReadonlyArray<MemoryEntry>,
    client: LlmClient.Service
  ) => Effect.Effect<ReadonlyArray<number>, ImportanceError>
  /** Decides instead if the judge fails, or gives anything but one number from 0 to 1 for each entry. */
  readonly rules: (entry: MemoryEntry) => number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelOptions {
  /** Override the settings of the call: temperature 0 and at most 200 tokens. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** Timeout of the call. A run waits for it before it ends. Default 3 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Characters of each entry that the model sees, half from the beginning and half from the end. Default 1,000. */
  readonly maxChars?: number | undefined
}

/**
 * By rules, without a model. Text that says to remember it has 0.9; facts, preferences, decisions, names, numbers and
 * dates raise the importance; greetings, thanks and questions lower it. What models and tools said counts less.
 *
 * @since 0.1.0
 * @category constructors
 */
export const heuristic: ImportanceJudge = {
  rules: Importance.of,
  judge: (entries) => Effect.sync(() => entries.map(Importance.of))
}

const Answer = Schema.Struct({ scores: Schema.Array(Schema.Finite) })
const decode = Schema.decodeUnknownEither(Answer)
const responseFormat: LlmClient.ResponseFormat = {
  type: "json",
  name: "scores",
  schema: OutputSchema.make(Answer).jsonSchema
}

const failed = (why: string): ImportanceError =>
  new ImportanceError({ message: `The model judged no importance: ${why}` })

const scoresIn = (
  response: LlmClient.LlmResponse,
  count: number
): Either.Either<ReadonlyArray<number>, ImportanceError> => {
  const answer = Either.flatMap(JsonText.read(LlmClient.text(response)), decode)
  return Either.isRight(answer) && answer.right.scores.length === count
    ? Either.right(answer.right.scores.map((score) => Math.min(1, Math.max(0, score / 10))))
    : Either.left(failed("its answer cannot be read"))
}

/**
 * By the model of the run, within its limits and its budget, in one call for the turns of a run. Entries are data in
 * it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const model = (options: ModelOptions = {}): ImportanceJudge => {
  const maxChars = Count.count(options.maxChars, 1_000, 2)
  const settings = ModelSettings.merge({ temperature: 0, maxTokens: 200 }, options.settings)
  return {
    rules: Importance.of,
    judge: Effect.fnUntraced(function* (entries: ReadonlyArray<MemoryEntry>, client: LlmClient.Service) {
      if (entries.length === 0) return []
      const prompts = yield* PromptLibrary.PromptLibrary
      const step = SemanticPrompts.Judge
      const { system, user } = prompts.render(step, {
        entries: DataDocument.stringify({
          entries: entries.map(({ content, role }, at) => ({ n: at + 1, role, text: Excerpt.ends(content, maxChars) }))
        }),
        output_format: step.textFormat
      })
      const messages: ReadonlyArray<LlmClient.Message> = [
        { role: "system", content: system },
        { role: "user", content: [{ type: "text", text: user }] }
      ]
      const limited = LlmTimeout.wrap({ whole: options.timeout ?? "3 seconds" })(client)
      const response = yield* Effect.mapError(limited.complete({ messages, responseFormat, settings }), (error) =>
        // Only the name of the error: providers may quote their input in the message.
        failed(error._tag)
      )
      return yield* scoresIn(response, entries.length)
    })
  }
}
