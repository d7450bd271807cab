/**
 * Makes one entry of several.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as Captured from "../../internal/fiber/Captured.js"
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
import * as MemorySummary from "./MemorySummary.js"
import * as SummaryText from "./SummaryText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface CompressOptions {
  /** Of the summary, at most; 200 unless set. */
  readonly maxTokens?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The summary of these entries, as `MemorySummary.make` builds it; nothing is stored. Its text has `maxTokens` tokens
   * at most, whatever wrote it. No entries, entries of several owners and a summary without a text are a
   * `ConsolidationError`.
   */
  readonly compress: (
    entries: ReadonlyArray<MemoryEntry>,
    options?: CompressOptions | undefined
  ) => Effect.Effect<MemoryEntry, ConsolidationError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EpisodicCompressor extends Context.Tag("effect-lexigram/memory/EpisodicCompressor")<
  EpisodicCompressor,
  Service
>() {}

/**
 * The tokens of a summary at most, unless set.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_TOKENS = 200

/** What an entry has room for. */
const mostTokens = Math.floor(maxContent / SummaryText.perToken)

/**
 * Writes the text of a summary. The entries are of one owner, oldest first; what is too long is cut where a sentence
 * ends, else a word.
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
export const make = <R = never>(write: Write<R>): Effect.Effect<Service, never, TokenCounter.TokenCounter | R> =>
  Effect.gen(function* () {
    const counter = yield* TokenCounter.TokenCounter
    const captured = yield* Captured.context<R>()
    return {
      compress: Effect.fnUntraced(function* (entries, options) {
        const maxTokens = Math.min(Count.count(options?.maxTokens, MAX_TOKENS, 1), mostTokens)
        const [first, ...rest] = entries.toSorted(EntryGroups.order)
        if (first === undefined) {
          return yield* new ConsolidationError({ message: "There is nothing to be summarised" })
        }
        if (rest.some(({ ownerId }) => ownerId !== first.ownerId)) {
          return yield* new ConsolidationError({ message: "A summary cannot stand for entries of several owners" })
        }
        const sorted = [first, ...rest] as const
        const text = yield* Captured.provide(write(sorted, { maxTokens }), captured)
        const content = SummaryText.cutSentences(text.trim(), maxTokens, counter.count)
        if (content === "") {
          return yield* new ConsolidationError({
            message: `A summary of ${entries.length} entries has no text within ${maxTokens} tokens`
          })
        }
        return MemorySummary.make({ entries: sorted, content })
      })
    }
  })

/**
 * A compressor from a function that writes the text.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  write: Write<R>
): Layer.Layer<EpisodicCompressor, never, TokenCounter.TokenCounter | R> =>
  Layer.effect(EpisodicCompressor, make(write))

/**
 * What the entries begin with, a line each, under `[summary of N turns]`. Asks no model.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerExtractive: Layer.Layer<EpisodicCompressor, never, TokenCounter.TokenCounter> = Layer.unwrapEffect(
  Effect.map(TokenCounter.TokenCounter, ({ count }) =>
    layer((entries, { maxTokens }) => Effect.sync(() => SummaryText.extract(entries, maxTokens, count)))
  )
)

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelOptions {
  /** Tokens of entries in one call, at most; 6,000 unless set, and no fewer than eight summaries have. */
  readonly maxInputTokens?: number | undefined
  /**
   * Calls that read entries, at most; 8 unless set. Entries that do not fit into so many calls are cut, the longest
   * first; more than could be read at all are a `ConsolidationError`. About as many calls again put the parts together.
   */
  readonly maxCalls?: number | undefined
  /** Wins over a temperature of 0 and a bound of the answer that leaves the model some room. */
  readonly settings?: ModelSettings.ModelSettings | undefined
}

/** What the model reads of an entry. */
const documentOf = (entry: MemoryEntry, text: string): object => ({
  role: entry.role,
  at: DateTime.formatIso(DateTime.unsafeMake(Math.min(Math.max(entry.timestamp, -8.64e15), 8.64e15))),
  ...(MemorySummary.isSummary(entry) ? { summary: true } : {}),
  text
})

/** Next to each other, as many as fit together. */
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
 * A summary is asked for in words, which models count better than tokens; most languages need 1.3 tokens a word or
 * more.
 */
const wordsOf = (tokens: number): number => Math.max(1, Math.floor(tokens / 1.4))

/** Braces, names and the time of an entry. */
const perEntry = 40

/** Tokens of an entry without which there is no use in reading it. */
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
        new ConsolidationError({ message: `The model gave no summary of ${entries.length} entries: ${why}` })
      const response = yield* Effect.mapError(
        client.complete({
          messages: [
            { role: "system", content: system },
            { role: "user", content: [{ type: "text", text: user }] }
          ],
          settings
        }),
        // Of the error its name alone: what providers say may quote what they were sent.
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
        // A part is small enough for two of them to fit into one call, so that each round halves what there is.
        Effect.map(ask(chunk), (text) => ({
          summary: true,
          text: SummaryText.cutSentences(text, 2 * maxTokens, sizeOf)
        }))
      )
      return Effect.flatMap(parts, reduce)
    }
    return Effect.suspend(() => {
      // Neighbours fill at least half of every chunk but the last.
      const available = Math.max(maxInput, Math.floor((maxCalls * maxInput) / 2))
      const needs = entries.map((entry) => sizeOf(entry.content.slice(0, maxInput * SummaryText.perToken)) + perEntry)
      const each = Math.min(SummaryText.share(needs, available), maxInput) - perEntry
      if (each < leastRead) {
        return new ConsolidationError({
          message: `${entries.length} entries are too many to be summarised in ${maxCalls} calls`,
          hint: "Summarise fewer at once, or raise `maxCalls` or `maxInputTokens`"
        })
      }
      return reduce(entries.map((entry) => documentOf(entry, SummaryText.cut(entry.content, each, sizeOf))))
    })
  }
}

/**
 * What a model writes. The entries are data in its prompt (`EpisodicPrompts.Summarize`); more than fits into one call
 * is summed up in parts, and then the parts. When the model fails, so does `compress`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerModel = (
  options?: ModelOptions | undefined
): Layer.Layer<EpisodicCompressor, never, LlmClient.LlmClient | TokenCounter.TokenCounter> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      return layer(byModel(CallGate.wrap(yield* LlmClient.LlmClient), yield* TokenCounter.TokenCounter, options))
    })
  )
