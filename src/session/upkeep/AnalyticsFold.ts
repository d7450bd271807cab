/**
 * Computes the figures of a conversation by combining those of adjacent parts, so that a conversation of any length is
 * read page by page, from either end.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import * as SortedMap from "effect/SortedMap"
import type { SessionTurn } from "../turn/Session.js"
import type * as SessionAnalytics from "./SessionAnalytics.js"

/**
 * The bounds of each list of a report. Names come from models and callers; those that sort first are kept.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxNames = 1000

/**
 * @since 0.1.0
 * @category constants
 */
export const maxNameLength = 256

interface Uses {
  readonly calls: number
  readonly failures: number
}

/** The names that sort first, and whether there were others. */
interface Named {
  readonly uses: SortedMap.SortedMap<string, Uses>
  readonly more: boolean
}

/**
 * The figures of some turns of a conversation, or of several closed conversations.
 *
 * @since 0.1.0
 * @category models
 */
export interface Fold {
  readonly turns: number
  readonly tokens: number
  readonly cost: number
  readonly unanswered: number
  readonly answered: number
  /** The total milliseconds that users waited for those answers. */
  readonly waited: number
  /** Closed conversations, and their total duration in milliseconds. */
  readonly conversations: number
  readonly lasted: number
  /** The conversation that is still open. */
  readonly span: { readonly first: number; readonly last: number } | undefined
  /** The time of the first answer that precedes all questions: it may answer a question of the part before. */
  readonly opening: number | undefined
  /** The time of the last question, if no answer follows it. */
  readonly pending: number | undefined
  /** Whether this part contains anything that separates later answers from earlier questions. */
  readonly asked: boolean
  readonly agents: Named
  readonly tools: Named
  readonly skills: Named
  readonly models: Named
  readonly providers: Named
}

const noNames: Named = { uses: SortedMap.empty<string, Uses>(Order.string), more: false }

/**
 * No turns.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: Fold = {
  turns: 0,
  tokens: 0,
  cost: 0,
  unanswered: 0,
  answered: 0,
  waited: 0,
  conversations: 0,
  lasted: 0,
  span: undefined,
  opening: undefined,
  pending: undefined,
  asked: false,
  agents: noNames,
  tools: noNames,
  skills: noNames,
  models: noNames,
  providers: noNames
}

const put = ({ more, uses }: Named, name: string, { calls, failures }: Uses): Named => {
  const before = SortedMap.get(uses, name)
  const after = SortedMap.set(
    uses,
    name,
    Option.isSome(before)
      ? { calls: before.value.calls + calls, failures: before.value.failures + failures }
      : { calls, failures }
  )
  if (SortedMap.size(after) <= maxNames) return { uses: after, more }
  const last = SortedMap.lastOption(after)
  return { uses: Option.isSome(last) ? SortedMap.remove(after, last.value[0]) : after, more: true }
}

/** A name that sorts first overall sorts first in every part, so no part has dropped a use of a kept name. */
const union = (a: Named, b: Named): Named => {
  const [large, small] = SortedMap.size(a.uses) < SortedMap.size(b.uses) ? [b, a] : [a, b]
  if (SortedMap.size(small.uses) === 0) return large
  let into: Named = { uses: large.uses, more: a.more || b.more }
  for (const [name, uses] of small.uses) into = put(into, name, uses)
  return into
}

const singleUse: Uses = { calls: 1, failures: 0 }

const nameOf = (name: unknown): string | undefined =>
  typeof name === "string" && name !== "" ? name.slice(0, maxNameLength) : undefined

const list = <A>(items: ReadonlyArray<A>, use: (item: A) => readonly [unknown, Uses]): Named => {
  let named = noNames
  for (const item of items) {
    const [given, uses] = use(item)
    const name = nameOf(given)
    if (name !== undefined) named = put(named, name, uses)
  }
  return named
}

const used = (name: unknown): readonly [unknown, Uses] => [name, singleUse]

const agentOf = (result: { readonly [key: string]: unknown }): unknown => {
  const { metadata } = result
  return typeof metadata === "object" && metadata !== null
    ? (metadata as { readonly agent?: unknown }).agent
    : undefined
}

/**
 * The time of the turn; for a turn copied by a merge, the time of its first version.
 *
 * @since 0.1.0
 * @category getters
 */
export const saidAt = (turn: SessionTurn): number => turn.origin?.timestamp ?? turn.timestamp

/**
 * The figures of one turn. An answer is text of an assistant; a turn that only calls tools is not one yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const of = (turn: SessionTurn): Fold => {
  const at = saidAt(turn)
  const isUser = turn.role === "user"
  const isAnswer = turn.role === "assistant" && (turn.content !== "" || turn.toolCalls.length === 0)
  return {
    turns: 1,
    tokens: turn.tokensUsed,
    cost: turn.cost,
    unanswered: isUser && turn.unanswered !== undefined ? 1 : 0,
    answered: 0,
    waited: 0,
    conversations: 0,
    lasted: 0,
    span: { first: at, last: at },
    opening: isAnswer ? at : undefined,
    pending: isUser && turn.unanswered === undefined ? at : undefined,
    asked: isUser,
    agents: list([turn.metadata.agent, ...turn.skillResults.map(agentOf)], used),
    tools: list(turn.toolCalls, (call) => [call.name, { calls: 1, failures: call.isFailure === true ? 1 : 0 }]),
    skills: list(turn.skillResults, (result) => used(result.skillName)),
    models: list([turn.model], used),
    providers: list([turn.provider], used)
  }
}

const joined = (a: Fold["span"], b: Fold["span"]): Fold["span"] =>
  a === undefined ? b : b === undefined ? a : { first: Math.min(a.first, b.first), last: Math.max(a.last, b.last) }

/**
 * Combines a part and the part after it. Associative, with `empty` as neutral element; commutative for closed folds.
 *
 * @since 0.1.0
 * @category combining
 */
export const combine = (a: Fold, b: Fold): Fold => {
  const answers = a.pending !== undefined && b.opening !== undefined
  return {
    turns: a.turns + b.turns,
    tokens: a.tokens + b.tokens,
    cost: a.cost + b.cost,
    unanswered: a.unanswered + b.unanswered,
    answered: a.answered + b.answered + (answers ? 1 : 0),
    // The clocks of machines may differ.
    waited: a.waited + b.waited + (answers ? Math.max(0, (b.opening as number) - (a.pending as number)) : 0),
    conversations: a.conversations + b.conversations,
    lasted: a.lasted + b.lasted,
    span: joined(a.span, b.span),
    opening: a.opening ?? (a.asked ? undefined : b.opening),
    pending: b.asked || b.opening !== undefined ? b.pending : a.pending,
    asked: a.asked || b.asked,
    agents: union(a.agents, b.agents),
    tools: union(a.tools, b.tools),
    skills: union(a.skills, b.skills),
    models: union(a.models, b.models),
    providers: union(a.providers, b.providers)
  }
}

/**
 * Appends one turn.
 *
 * @since 0.1.0
 * @category combining
 */
export const add = (fold: Fold, turn: SessionTurn): Fold => combine(fold, of(turn))

/**
 * Folds the turns of one conversation, oldest first.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { AnalyticsFold, SessionManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * // The figures of the last 20 turns alone; `SessionAnalytics` reports on whole sessions.
 * const program = Effect.gen(function* () {
 *   const sessions = yield* SessionManager.SessionManager
 *   const turns = yield* sessions.turns(Ids.SessionId.make("trip"), { last: 20 })
 *   const { totalCost, totalTokens } = AnalyticsFold.figures(AnalyticsFold.fromTurns(turns))
 *   return { totalCost, totalTokens }
 * })
 * ```
 */
export const fromTurns = (turns: Iterable<SessionTurn>): Fold => {
  let fold = empty
  for (const turn of turns) fold = add(fold, turn)
  return fold
}

/**
 * The fold of a turn whose answer is known to be at `answeredAt`; other turns no longer affect it.
 *
 * @since 0.1.0
 * @category combining
 */
export const settle = (fold: Fold, answeredAt: number | undefined): Fold => ({
  ...combine(fold, { ...empty, opening: answeredAt }),
  opening: undefined,
  pending: undefined,
  asked: true
})

/**
 * Closes the conversation: later turns answer none of its questions, and its duration is final.
 *
 * @since 0.1.0
 * @category combining
 */
export const close = (fold: Fold): Fold =>
  fold.span === undefined
    ? fold
    : {
        ...fold,
        conversations: fold.conversations + 1,
        lasted: fold.lasted + (fold.span.last - fold.span.first),
        span: undefined,
        opening: undefined,
        pending: undefined,
        asked: true
      }

/**
 * The number of conversations.
 *
 * @since 0.1.0
 * @category getters
 */
export const conversations = (fold: Fold): number => fold.conversations + (fold.span === undefined ? 0 : 1)

const NANO = 1e9

/**
 * The figures of a fold, as a report gives them.
 *
 * @since 0.1.0
 * @category getters
 */
export const figures = (fold: Fold): SessionAnalytics.Figures => {
  const { agents, models, providers, skills, tools } = fold
  const namesOf = ({ uses }: Named) => [...SortedMap.keys(uses)]
  return {
    totalTurns: fold.turns,
    totalTokens: fold.tokens,
    totalCost: Math.round(fold.cost * NANO) / NANO,
    durationSeconds: (fold.lasted + (fold.span === undefined ? 0 : fold.span.last - fold.span.first)) / 1000,
    agentsUsed: namesOf(agents),
    toolsInvoked: namesOf(tools),
    toolCalls: Array.from(tools.uses, ([name, uses]) => ({ name, ...uses })),
    skillsInvoked: namesOf(skills),
    averageResponseTimeMs: fold.answered === 0 ? 0 : fold.waited / fold.answered,
    answeredTurns: fold.answered,
    unansweredTurns: fold.unanswered,
    modelsUsed: namesOf(models),
    providersUsed: namesOf(providers),
    moreNames: [agents, models, providers, skills, tools].some(({ more }) => more)
  }
}
