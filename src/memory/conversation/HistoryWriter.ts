/**
 * Writes the summary of older turns: by a model, or from the beginnings of the turns if the model cannot.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as LlmTimeout from "../../llm/LlmTimeout.js"
import type * as ModelRouter from "../../llm/ModelRouter.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as HistoryPrompts from "../../prompt/defaults/HistoryPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import * as SummaryText from "../episodic/SummaryText.js"
import type { Fallback, Item, Summary } from "./HistoryCompactor.js"
import * as HistoryCut from "./HistoryCut.js"

/**
 * A summary text and how it came about.
 *
 * @category models
 */
export interface Written {
  readonly text: string
  readonly by: "model" | "extract"
  /** Whether to remember it. */
  readonly final: boolean
  readonly fallback?: Fallback | undefined
}

/**
 * What is known of a conversation.
 *
 * @category models
 */
export interface State {
  summary: Summary | undefined
  /** A call for this conversation is in progress. */
  busy: boolean
  /** No call before this time, in milliseconds since the epoch. */
  notBefore: number
  /** The last turn of a head whose summary did not fit. */
  inVain: string | undefined
}

/**
 * @category constructors
 */
export const emptyState = (): State => ({
  summary: undefined,
  busy: false,
  notBefore: Number.NEGATIVE_INFINITY,
  inVain: undefined
})

/**
 * @category models
 */
export interface Options {
  readonly router: ModelRouter.Service
  readonly role: ModelRouter.Role
  readonly settings: ModelSettings.ModelSettings | undefined
  readonly timeout: Duration.DurationInput
  /** Tokens of turns that the model reads, approximately. */
  readonly maxInput: number
  /** Milliseconds without calls after a failure. */
  readonly retryAfter: number
  /** Tokens of a text as JSON. */
  readonly count: (text: string) => number
}

/**
 * @category models
 */
export interface Writer {
  /** Summarizes the head and the summary before it. Makes at most one call at a time for a state. */
  readonly write: (
    state: State,
    head: ReadonlyArray<Item>,
    previous: Summary | undefined,
    maxTokens: number
  ) => Effect.Effect<Written>
}

/** The prompt asks for a number of words. Most languages need at least 1.4 tokens per word. */
const wordsOf = (tokens: number): number => Math.max(1, Math.floor(tokens / 1.4))

/** A model cannot summarize in fewer tokens. */
const leastTokens = 16

/** Tokens of the braces and names of a turn in the document. */
const perTurn = 12

/** The document that the model reads. If there are too many turns, the older ones are reduced to their beginnings. */
const documentOf = (
  { count, maxInput }: Options,
  head: ReadonlyArray<Item>,
  previous: Summary | undefined,
  maxTokens: number
): object => {
  const older = head.slice(0, Math.max(0, head.length - Math.floor(maxInput / (2 * perTurn))))
  const newer = head.slice(older.length)
  const summary = older.length === 0 ? previous?.text : HistoryCut.extract(older, previous, maxTokens, count)
  const each = SummaryText.share(
    newer.map(({ content }) => count(content.slice(0, maxInput * SummaryText.perToken)) + perTurn),
    maxInput
  )
  const turns = newer.map(({ content, role }) => ({
    role,
    text: SummaryText.truncate(content, Math.max(1, each - perTurn), count)
  }))
  return { ...(summary === undefined ? {} : { summary }), turns }
}

const ask = Effect.fnUntraced(function* (
  options: Options,
  head: ReadonlyArray<Item>,
  previous: Summary | undefined,
  maxTokens: number
): Effect.fn.Return<string, LlmError> {
  const { client, settings } = yield* options.router.resolve(options.role)
  const prompts = yield* PromptLibrary.PromptLibrary
  const { system, user } = prompts.render(HistoryPrompts.Compact, {
    conversation: DataDocument.stringify(documentOf(options, head, previous, maxTokens)),
    max_words: String(wordsOf(maxTokens)),
    output_format: HistoryPrompts.Compact.textFormat
  })
  const response = yield* LlmTimeout.wrap({ whole: options.timeout })(client).complete({
    messages: [
      { role: "system", content: system },
      { role: "user", content: [{ type: "text", text: user }] }
    ],
    settings: ModelSettings.merge(
      ModelSettings.merge({ temperature: 0, maxTokens: 2 * maxTokens }, settings),
      options.settings
    )
  })
  // What a content filter left of an answer is not a summary.
  const refused = response.finishReason === "content-filter" || response.finishReason === "error"
  return refused ? "" : LlmClient.text(response).trim()
})

/**
 * @category constructors
 */
export const make = (options: Options): Writer => {
  const { count, retryAfter } = options

  const write: Writer["write"] = Effect.fnUntraced(function* (state, head, previous, maxTokens) {
    // A failed call can succeed later. Repeating a call whose answer was useless cannot.
    const extract = (fallback: Fallback, final = false): Written => ({
      text: HistoryCut.extract(head, previous, maxTokens, count),
      by: "extract",
      fallback,
      final
    })
    const accept = (text: string): Written => {
      if (text === "") return extract("empty", true)
      const before = [...(previous === undefined ? [] : [previous.text]), ...head.map(({ content }) => content)]
      if (count(text) >= count(before.join("\n"))) return extract("not_shorter", true)
      const cut = SummaryText.cutSentences(text, maxTokens, count)
      return cut === text
        ? { text, by: "model", final: true }
        : { text: cut, by: "model", final: true, fallback: "too_long" }
    }
    const postpone = (error: LlmError): Effect.Effect<Written> =>
      Effect.flatMap(Clock.currentTimeMillis, (failedAt) => {
        state.notBefore = failedAt + retryAfter
        return Effect.logWarning("The history could not be summarized").pipe(
          Effect.annotateLogs({ module: "HistoryCompactor", error: error._tag }),
          Effect.as(extract("failed"))
        )
      })
    const setBusy = (busy: boolean) =>
      Effect.sync(() => {
        state.busy = busy
      })

    const now = yield* Clock.currentTimeMillis
    if (state.busy) return extract("busy")
    if (maxTokens < leastTokens || state.inVain === head.at(-1)?.id) return extract("too_long")
    if (now < state.notBefore) return extract("failed")
    return yield* Effect.acquireUseRelease(
      setBusy(true),
      () =>
        Effect.matchEffect(ask(options, head, previous, maxTokens), {
          onFailure: postpone,
          onSuccess: (text) => Effect.sync(() => accept(text))
        }),
      () => setBusy(false)
    )
  })
  return { write }
}
