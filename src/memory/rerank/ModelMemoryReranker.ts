/**
 * Lets a model order results. It sees the question and the best results once, as numbered data, and answers with their
 * numbers; nothing else in its answer is used. The content of an entry can at most reorder the entries shown. It cannot
 * add, remove or change any.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Count from "../../internal/Count.js"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as Excerpt from "../../internal/text/Excerpt.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import * as LlmTimeout from "../../llm/LlmTimeout.js"
import * as ModelRouter from "../../llm/ModelRouter.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as MemoryRerankPrompts from "../../prompt/defaults/MemoryRerankPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import * as MemoryReranker from "./MemoryReranker.js"
import * as ResultGroups from "./ResultGroups.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The role of the `ModelRouter` that judges. Default `evaluation`. */
  readonly role?: ModelRouter.Role | undefined
  /** Override the settings of the role, which override the defaults: temperature 0 and at most 500 tokens. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** Timeout of the whole call. Default 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Number of results the model sees, from the first. Default 30. */
  readonly maxCandidates?: number | undefined
  /**
   * Maximum characters of the question and of each result that the model sees, half from the beginning and half from
   * the end. Default 1,000.
   */
  readonly maxChars?: number | undefined
}

const Answer = Schema.Struct({ order: Schema.Array(Schema.Number) })
const decode = Schema.decodeUnknownOption(Answer)
const responseFormat: LlmClient.ResponseFormat = {
  type: "json",
  name: "order",
  schema: OutputSchema.make(Answer).jsonSchema
}

/** The distinct places that the answer names, or `undefined` if it names none. */
const placesIn = (response: LlmClient.LlmResponse, count: number): ReadonlyArray<number> | undefined => {
  const json = JsonText.read(LlmClient.text(response))
  if (Either.isLeft(json)) return undefined
  const answer = decode(json.right)
  if (answer._tag === "None") return undefined
  const places = new Set<number>()
  for (const number of answer.value.order) {
    if (Number.isInteger(number) && number >= 1 && number <= count) places.add(number - 1)
  }
  return places.size === 0 ? undefined : Array.from(places)
}

const service = (resolve: Effect.Effect<ModelRouter.Resolved>, options: Options): MemoryReranker.Service => {
  const maxCandidates = Count.count(options.maxCandidates, 30, 2)
  const maxChars = Count.count(options.maxChars, 1000, 2)

  const ask = Effect.fnUntraced(function* (question: string, groups: ReadonlyArray<ResultGroups.Group>) {
    const { client, settings } = yield* resolve
    const prompts = yield* PromptLibrary.PromptLibrary
    const step = MemoryRerankPrompts.Rerank
    const candidates = groups.map((group, at) => {
      const [{ entry }] = group
      return {
        n: at + 1,
        at: Excerpt.time(entry.timestamp),
        role: entry.role,
        text: Excerpt.ends(entry.content, maxChars)
      }
    })
    const { system, user } = prompts.render(step, {
      candidates: DataDocument.stringify({ question: Excerpt.ends(question, maxChars), candidates }),
      output_format: step.textFormat
    })
    const limited = LlmTimeout.wrap({ whole: options.timeout ?? "30 seconds" })(client)
    return yield* limited.complete({
      messages: [
        { role: "system", content: system },
        { role: "user", content: [{ type: "text", text: user }] }
      ],
      responseFormat,
      settings: ModelSettings.merge(ModelSettings.merge({ temperature: 0, maxTokens: 500 }, settings), options.settings)
    })
  })

  return {
    rerank: (question, results) =>
      Effect.suspend((): Effect.Effect<MemoryReranker.Reranked> => {
        const groups = ResultGroups.of(results)
        if (groups.length < 2) return Effect.succeed({ results, reranked: false, reason: "few" })
        const shown = groups.slice(0, maxCandidates)
        return Effect.matchEffect(ask(question, shown), {
          onFailure: (error) => ResultGroups.kept(results, error._tag),
          onSuccess: (response): Effect.Effect<MemoryReranker.Reranked> => {
            const places = placesIn(response, shown.length)
            if (places === undefined) return ResultGroups.kept(results, "unreadable")
            return Effect.succeed(ResultGroups.ordered(groups, places))
          }
        })
      })
  }
}

/**
 * Reranks with the model that the router has for its role.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<MemoryReranker.Service, never, ModelRouter.ModelRouter> =>
  Effect.map(ModelRouter.ModelRouter, (router) => service(router.resolve(options.role ?? "evaluation"), options))

/**
 * Reranks with this client instead of the router's. `role` has no effect.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeWith = (client: LlmClient.Service, options: Options = {}): MemoryReranker.Service =>
  service(Effect.succeed({ client, settings: ModelSettings.empty }), options)

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultModelRouter } from "effect-lexigram"
 * import { InMemoryMemoryStore, MemoryReranker, MemoryStore, ModelMemoryReranker } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const question = "Where does Tom live?"
 *
 * const program = Effect.gen(function* () {
 *   const [store, reranker] = yield* Effect.all([MemoryStore.MemoryStore, MemoryReranker.MemoryReranker])
 *   const { results } = yield* reranker.rerank(question, yield* store.retrieve({ ownerId: "ada", query: question }))
 *   return results.slice(0, 3)
 * }).pipe(
 *   Effect.provide([ModelMemoryReranker.layer({ timeout: "5 seconds" }), InMemoryMemoryStore.layer()]),
 *   Effect.provide(DefaultModelRouter.layerDefault)
 * )
 * ```
 */
export const layer = (
  options: Options = {}
): Layer.Layer<MemoryReranker.MemoryReranker, never, ModelRouter.ModelRouter> =>
  Layer.effect(MemoryReranker.MemoryReranker, make(options))
