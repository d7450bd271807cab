/**
 * The history compactor: keeps the newest turns and lets a model summarize the older ones.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as ModelRouter from "../../llm/ModelRouter.js"
import type * as ModelSettings from "../../llm/model/ModelSettings.js"
import { TokenCounter } from "../../llm/model/TokenCounter.js"
import { MemoryCapacityError } from "../entry/MemoryError.js"
import * as MemoryTelemetry from "../entry/MemoryTelemetry.js"
import * as MemoryText from "../entry/MemoryText.js"
import * as TokenCosts from "../entry/TokenCosts.js"
import {
  type Compacted,
  type CompactOptions,
  HistoryCompactor,
  type Item,
  type Service,
  type Summary,
  summaryMessage
} from "./HistoryCompactor.js"
import * as HistoryCut from "./HistoryCut.js"
import * as HistoryWriter from "./HistoryWriter.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The role of the router that writes summaries. Default `documentation`. */
  readonly role?: ModelRouter.Role | undefined
  /**
   * Override the settings of the role, which override the defaults: temperature 0 and twice the tokens of a summary.
   */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** Timeout of the model call. Default 60 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Maximum tokens of a summary, and never more than a quarter of the budget. Default 500. */
  readonly summaryTokens?: number | undefined
  /**
   * The fraction of the budget that the newest turns keep when history is compacted, 0 to 1; the rest is room to grow.
   * Default 0.5.
   */
  readonly keepFraction?: number | undefined
  /** Approximate tokens of turns that the model reads. Longer turns are cut, the longest first. Default 6000. */
  readonly maxInputTokens?: number | undefined
  /** How long a failed model is not called again. Default one minute. */
  readonly retryAfter?: Duration.DurationInput | undefined
  /** Maximum number of remembered conversations. The least recently used are forgotten. Default 1000. */
  readonly maxScopes?: number | undefined
}

type Scope = CompactOptions<Item>["scope"]

const keyOf = ({ ownerId, sessionId }: Scope): string => JSON.stringify([ownerId, sessionId])

/** The states of conversations. The least recently used are forgotten, except while a model writes their summary. */
const makeStates = (maxScopes: number) => {
  const states = new Map<string, HistoryWriter.State>()
  return {
    get: (scope: Scope): HistoryWriter.State => {
      const key = keyOf(scope)
      const state = states.get(key) ?? HistoryWriter.emptyState()
      states.delete(key)
      states.set(key, state)
      for (const [oldest, { busy }] of states) {
        if (states.size <= maxScopes) break
        if (!busy && oldest !== key) states.delete(oldest)
      }
      return state
    },
    delete: (scope: Scope): void => void states.delete(keyOf(scope))
  }
}

interface Counting {
  readonly item: (scope: Scope) => (item: Item) => number
  readonly summary: (text: string) => number
  readonly json: (text: string) => number
}

const makeCounting = (counter: TokenCounter["Type"]): Counting => {
  const costs = TokenCosts.make({ maxTexts: 8192, maxChars: 8_000_000 })
  return {
    item: (scope) => (item) =>
      costs.get(JSON.stringify([scope.ownerId, scope.sessionId, item.role, item.id]), item.content, () =>
        MemoryText.messageTokens(counter, item)
      ),
    summary: (text) => counter.countMessages([summaryMessage({ text })]) - counter.countMessages([]),
    json: (text) => counter.count(DataDocument.stringify(text))
  }
}

/** A history that exceeds its budget, cut into the turns to summarize (`head`) and those that stay (`kept`). */
interface Cut<A extends Item> {
  readonly head: ReadonlyArray<A>
  readonly kept: ReadonlyArray<A>
  readonly previous: Summary | undefined
  /** Tokens of `kept`. */
  readonly tokens: number
  /** Tokens left for the message of the summary. */
  readonly room: number
  /** Maximum tokens of the summary. */
  readonly maxTokens: number
}

/** Adds a summary to the turns that stay, as far as it fits. */
const withSummary = <A extends Item>(
  cut: Cut<A>,
  counting: Counting,
  text: string,
  how: Pick<Compacted<A>, "by" | "fallback">
): Compacted<A> => {
  const { head, kept, maxTokens, previous, room, tokens } = cut
  const throughId = head.at(-1)?.id ?? previous?.throughId
  const fitting = maxTokens < 1 ? "" : HistoryCut.fit(text, room, maxTokens, counting.summary, counting.json)
  if (fitting === "" || throughId === undefined) return { summary: undefined, kept, tokens, ...how }
  const summary = { text: fitting, throughId, turns: head.length + (previous?.turns ?? 0) }
  return { summary, kept, tokens: tokens + counting.summary(fitting), ...how }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<Service, never, TokenCounter | ModelRouter.ModelRouter> =>
  Effect.gen(function* () {
    const counting = makeCounting(yield* TokenCounter)
    const writer = HistoryWriter.make({
      router: yield* ModelRouter.ModelRouter,
      role: options?.role ?? "documentation",
      settings: options?.settings,
      timeout: options?.timeout ?? "60 seconds",
      maxInput: Count.count(options?.maxInputTokens, 6000, 100),
      retryAfter: Duration.toMillis(options?.retryAfter ?? "1 minute"),
      count: counting.json
    })
    const mostTokens = Count.count(options?.summaryTokens, 500, 1)
    const given = options?.keepFraction ?? 0.5
    const keepFraction = given >= 0 && given <= 1 ? given : 0.5
    const states = makeStates(Count.count(options?.maxScopes, 1000, 1))

    /** Cuts the history. Returns it as it is if it fits the budget. */
    const cutOf = <A extends Item>(
      { items, previous: handedIn, scope, tokenBudget }: CompactOptions<A>,
      remembered: Summary | undefined
    ): Effect.Effect<Compacted<A> | Cut<A>, MemoryCapacityError> => {
      const budget = Number.isNaN(tokenBudget) ? 0 : tokenBudget
      const { live, previous } = HistoryCut.since(items, handedIn, remembered)
      const cost = counting.item(scope)
      const system = items.filter(({ role }) => role === "system")
      const inOrder = (turns: ReadonlyArray<A>): ReadonlyArray<A> => {
        const kept = new Set<A>([...system, ...turns])
        return items.filter((item) => kept.has(item))
      }
      const fixed = HistoryCut.sum(system, cost)
      const whole = fixed + HistoryCut.sum(live, cost) + (previous === undefined ? 0 : counting.summary(previous.text))
      if (whole <= budget) {
        return Effect.succeed({ summary: previous, kept: inOrder(live), tokens: whole, by: "nothing" })
      }
      const split = HistoryCut.split(live, cost, budget - fixed, keepFraction * budget - fixed)
      if (split === undefined) {
        return new MemoryCapacityError({
          message: "The system prompt and the newest turn exceed the token budget",
          capacity: budget
        })
      }
      const tokens = fixed + HistoryCut.sum(split.kept, cost)
      const room = budget - tokens
      const maxTokens = Math.min(mostTokens, Math.floor(budget / 4), room - counting.summary(""))
      return Effect.succeed({ head: split.head, kept: inOrder(split.kept), previous, tokens, room, maxTokens })
    }

    const summarize = <A extends Item>(cut: Cut<A>, state: HistoryWriter.State): Effect.Effect<Compacted<A>> => {
      const { head, maxTokens, previous } = cut
      // Without turns to summarize, the previous summary is shortened.
      if (maxTokens < 1 || head.length === 0) {
        return Effect.succeed(withSummary(cut, counting, previous?.text ?? "", { by: "extract" }))
      }
      return Effect.map(writer.write(state, head, previous, maxTokens), ({ by, fallback, final, text }) => {
        const compacted = withSummary(cut, counting, text, { by, ...(fallback === undefined ? {} : { fallback }) })
        if (final) {
          state.summary = compacted.summary
          state.inVain = compacted.summary === undefined ? head.at(-1)?.id : undefined
        }
        return compacted
      }).pipe(MemoryTelemetry.observed("working", "compress"))
    }

    return {
      compact: <A extends Item>(request: CompactOptions<A>) =>
        Effect.suspend(() => {
          const state = states.get(request.scope)
          return Effect.flatMap(cutOf(request, state.summary), (found) =>
            "head" in found ? summarize(found, state) : Effect.succeed(found)
          )
        }),
      forget: (scope) => Effect.sync(() => states.delete(scope))
    }
  })

/**
 * Requires the counter of the model that reads the history, and a router with the model that writes summaries.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, TokenCounter } from "effect-lexigram"
 * import { DefaultHistoryCompactor } from "effect-lexigram/memory"
 * import { CompactedSessionHistory, Sessions } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * // Half of the 8,000 tokens stay verbatim; earlier turns become a summary of at most 300.
 * const history = CompactedSessionHistory.layer({ tokenBudget: 8_000 }).pipe(
 *   Layer.provide(DefaultHistoryCompactor.layer({ summaryTokens: 300 }))
 * )
 *
 * const tokens = TokenCounter.layer({ model: "gpt-4o" })
 *
 * const agents = Agents.layerWith({ sessions: Sessions.layer(), history, tokens })
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<HistoryCompactor, never, TokenCounter | ModelRouter.ModelRouter> =>
  Layer.effect(HistoryCompactor, make(options))
