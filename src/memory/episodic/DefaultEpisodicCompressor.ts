/**
 * Compressors that quote entries, ask a model, or use any function that writes the text of a summary.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as CallGate from "../../llm/model/CallGate.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as EpisodicPrompts from "../../prompt/defaults/EpisodicPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import { type MemoryEntry, maxContent } from "../entry/MemoryEntry.js"
import { ConsolidationError } from "../entry/MemoryError.js"
import * as EpisodicCompressor from "./EpisodicCompressor.js"
import * as MemorySummary from "./MemorySummary.js"
import * as SummaryText from "./SummaryText.js"

/**
 * Default maximum tokens of a summary.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_TOKENS = 200

/** The capacity of an entry. */
const mostTokens = Math.floor(maxContent / SummaryText.perToken)

/**
 * Writes the text of a summary. The entries have one owner and are oldest first. A text that is too long is cut at the
 * end of a sentence, or else of a word.
 *
 * @since 0.1.0
 * @category models
 */
export type Write<out R = never> = (
  entries: NonEmptyReadonlyArray<MemoryEntry>,
  options: { readonly maxTokens: number }
) => Effect.Effect<string, ConsolidationError, R>

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(
  write: Write<R>
): Effect.Effect<EpisodicCompressor.Service, never, TokenCounter.TokenCounter | R> =>
  Effect.gen(function* () {
    const counter = yield* TokenCounter.TokenCounter
    const captured = yield* CapturedContext.context<R>()
    return {
      compress: Effect.fnUntraced(function* (entries, options) {
        const maxTokens = Math.min(Count.count(options?.maxTokens, MAX_TOKENS, 1), mostTokens)
        const [first, ...rest] = entries.toSorted(EntryGroups.order)
        if (first === undefined) {
          return yield* new ConsolidationError({ message: "There are no entries to summarize" })
        }
        if (rest.some(({ ownerId }) => ownerId !== first.ownerId)) {
          return yield* new ConsolidationError({ message: "A summary cannot cover entries of several owners" })
        }
        const sorted = [first, ...rest] as const
        const text = yield* CapturedContext.provide(write(sorted, { maxTokens }), captured)
        const content = SummaryText.cutSentences(text.trim(), maxTokens, counter.count)
        if (content === "") {
          return yield* new ConsolidationError({
            message: `The summary of ${entries.length} entries has no text within ${maxTokens} tokens`
          })
        }
        return MemorySummary.make({ entries: sorted, content })
      })
    }
  })

/**
 * Makes a compressor from a function that writes the text.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import { DefaultEpisodicCompressor } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // What the user said, without a model.
 * const compressor = DefaultEpisodicCompressor.layer((entries) =>
 *   Effect.succeed(
 *     entries
 *       .filter(({ role }) => role === "user")
 *       .map(({ content }) => `The user said: ${content}`)
 *       .join("\n")
 *   )
 * ).pipe(Layer.provide(TokenCounter.layerApproximate()))
 * ```
 */
export const layer = <R = never>(
  write: Write<R>
): Layer.Layer<EpisodicCompressor.EpisodicCompressor, never, TokenCounter.TokenCounter | R> =>
  Layer.effect(EpisodicCompressor.EpisodicCompressor, make(write))

/**
 * Quotes the beginnings of the entries, one line each, under `[summary of N turns]`. Uses no model.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerExtractive: Layer.Layer<EpisodicCompressor.EpisodicCompressor, never, TokenCounter.TokenCounter> =
  Layer.unwrapEffect(
    Effect.map(TokenCounter.TokenCounter, ({ count }) =>
      layer((entries, { maxTokens }) => Effect.sync(() => SummaryText.extract(entries, maxTokens, count)))
    )
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelOptions {
  /** Maximum tokens of entries in one call. Default 6,000; at least the size of eight summaries. */
  readonly maxInputTokens?: number | undefined
  /**
   * Maximum number of calls that read entries. Default 8. If the entries need more calls, the longest are cut; if that
   * is not enough, it is a `ConsolidationError`. About as many additional calls merge the parts.
   */
  readonly maxCalls?: number | undefined
  /** Overrides the temperature of 0 and the answer bound, which leaves the model some room. */
  readonly settings?: ModelSettings.ModelSettings | undefined
}

/** What the model reads of an entry. */
const documentOf = (entry: MemoryEntry, text: string): object => ({
  role: entry.role,
  at: DateTime.formatIso(DateTime.unsafeMake(Math.min(Math.max(entry.timestamp, -8.64e15), 8.64e15))),
  ...(MemorySummary.isSummary(entry) ? { summary: true } : {}),
  text
})

/** Groups neighbors, as many as fit together. */
const chunked = <A>(items: ReadonlyArray<A>, sizeOf: (item: A) => number, most: number): Array<Array<A>> => {
  const chunks: Array<Array<A>> = []
  let size = Number.POSITIVE_INFINITY
  for (const item of items) {
    const own = sizeOf(item)
    if (size + own > most) {
      chunks.push([])
      size = 0
    }
    chunks[chunks.length - 1]?.push(item)
    size += own
  }
  return chunks
}

/**
 * The prompt asks for a number of words, which models count better than tokens. Most languages need at least 1.3 tokens
 * per word.
 */
const wordsOf = (tokens: number): number => Math.max(1, Math.floor(tokens / 1.4))

/** Tokens for the braces, names and time of an entry. */
const perEntry = 40

/** Minimum tokens of an entry that are worth reading. */
const leastRead = 16

const byModel = (
  client: LlmClient.Service,
  counter: TokenCounter.Service,
  options: ModelOptions | undefined
): Write => {
  const maxCalls = Count.count(options?.maxCalls, 8, 1)
  const sizeOf = (value: unknown): number => counter.count(DataDocument.stringify(value))
  return (entries, { maxTokens }) => {
    const maxInput = Math.max(Count.count(options?.maxInputTokens, 6000, 1), 8 * maxTokens, 8 * perEntry)
    const settings = ModelSettings.merge({ temperature: 0, maxTokens: 2 * maxTokens }, options?.settings)
    const ask = Effect.fnUntraced(function* (documents: ReadonlyArray<unknown>) {
      const prompts = yield* PromptLibrary.PromptLibrary
      const { system, user } = prompts.render(EpisodicPrompts.Summarize, {
        entries: DataDocument.stringify({ entries: documents }),
        max_words: String(wordsOf(maxTokens)),
        output_format: EpisodicPrompts.Summarize.textFormat
      })
      const failed = (why: string) =>
        new ConsolidationError({ message: `The model wrote no summary of ${entries.length} entries: ${why}` })
      const response = yield* Effect.mapError(
        client.complete({
          messages: [
            { role: "system", content: system },
            { role: "user", content: [{ type: "text", text: user }] }
          ],
          settings
        }),
        // Only the name of the error: providers may quote their input in the message.
        (error) => failed(error._tag)
      )
      if (response.finishReason === "content-filter" || response.finishReason === "error") {
        return yield* failed(response.finishReason)
      }
      const text = LlmClient.text(response).trim()
      return text === "" ? yield* failed("its answer is empty") : text
    })
    const reduce = (documents: ReadonlyArray<unknown>): Effect.Effect<string, ConsolidationError> => {
      const chunks = chunked(documents, sizeOf, maxInput)
      if (chunks.length === 1) return ask(documents)
      const parts = Effect.forEach(chunks, (chunk) =>
        // Two parts must fit into one call, so that each round halves the number of parts.
        Effect.map(ask(chunk), (text) => ({
          summary: true,
          text: SummaryText.cutSentences(text, 2 * maxTokens, sizeOf)
        }))
      )
      return Effect.flatMap(parts, reduce)
    }
    return Effect.suspend(() => {
      // Neighbors fill at least half of every chunk except the last.
      const available = Math.max(maxInput, Math.floor((maxCalls * maxInput) / 2))
      const needs = entries.map((entry) => sizeOf(entry.content.slice(0, maxInput * SummaryText.perToken)) + perEntry)
      const each = Math.min(SummaryText.share(needs, available), maxInput) - perEntry
      if (each < leastRead) {
        return new ConsolidationError({
          message: `${entries.length} entries are too many to summarize in ${maxCalls} calls`,
          hint: "Summarize fewer at once, or raise `maxCalls` or `maxInputTokens`"
        })
      }
      return reduce(entries.map((entry) => documentOf(entry, SummaryText.truncate(entry.content, each, sizeOf))))
    })
  }
}

/**
 * A compressor that asks a model. The entries are data in its prompt (`EpisodicPrompts.Summarize`). Entries that do not
 * fit into one call are summarized in parts, and then the parts. If the model fails, so does `compress`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerModel = (
  options?: ModelOptions | undefined
): Layer.Layer<EpisodicCompressor.EpisodicCompressor, never, LlmClient.LlmClient | TokenCounter.TokenCounter> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      return layer(byModel(CallGate.wrap(yield* LlmClient.LlmClient), yield* TokenCounter.TokenCounter, options))
    })
  )
