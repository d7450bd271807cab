/**
 * Which of the candidates get into the context: sections are served one after another, never more than the budget.
 *
 * @internal
 * @since 0.1.0
 */
import type * as TokenBudgetAllocator from "./TokenBudgetAllocator.js"

/**
 * Something that is taken as a whole or not at all.
 *
 * @category models
 */
export interface Candidate<out A> {
  readonly ids: ReadonlyArray<string>
  /** Nothing is taken of which some key is there already. */
  readonly keys: ReadonlyArray<string>
  readonly value: A
  readonly cost: () => number
}

/**
 * @category models
 */
export interface Source<out A> {
  readonly section: TokenBudgetAllocator.Section
  /** Best first. */
  readonly candidates: ReadonlyArray<Candidate<A>>
  /**
   * Nothing behind a candidate that no longer fits is taken, so that there is no gap; one that could never fit is
   * passed over.
   */
  readonly contiguous: boolean
}

/**
 * @category models
 */
export interface Served<out A> {
  readonly section: TokenBudgetAllocator.Section
  readonly tokenBudget: number
  readonly tokens: number
  readonly taken: ReadonlyArray<Candidate<A>>
  readonly left: ReadonlyArray<Candidate<A>>
}

interface Serving<A> {
  readonly source: Source<A>
  /** The most room it has had at once. */
  most: number
  tokenBudget: number
  tokens: number
  readonly taken: Array<Candidate<A>>
  left: ReadonlyArray<Candidate<A>>
}

/** What a counter says is taken at its word, as long as it is a number. */
const costOf = (candidate: Candidate<unknown>): number => {
  const cost = candidate.cost()
  return cost >= 0 ? cost : Number.POSITIVE_INFINITY
}

const serve = <A>(serving: Serving<A>, room: number, there: Set<string>): void => {
  const left: Array<Candidate<A>> = []
  serving.most = Math.max(serving.most, room)
  let rest = room
  let full = false
  for (const candidate of serving.left) {
    if (full || candidate.keys.some((key) => there.has(key))) {
      left.push(candidate)
      continue
    }
    const cost = costOf(candidate)
    if (cost <= rest) {
      for (const key of candidate.keys) there.add(key)
      serving.taken.push(candidate)
      serving.tokens += cost
      rest -= cost
    } else {
      left.push(candidate)
      if (serving.source.contiguous && cost <= serving.most) full = true
    }
  }
  serving.tokenBudget = serving.tokens + rest
  serving.left = left
}

/**
 * Each source gets what its section is due and what those before it left over; what is left in the end goes round once
 * more. `carried` is what is left over before the first one, and may be negative. A section that is due nothing by its
 * share gets nothing.
 *
 * @category combinators
 */
export const fill = <A>(
  sources: ReadonlyArray<Source<A>>,
  allocation: TokenBudgetAllocator.Allocation,
  carried: number,
  limit: number
): ReadonlyArray<Served<A>> => {
  const servings = sources.map(
    (source): Serving<A> => ({ source, most: 0, tokenBudget: 0, tokens: 0, taken: [], left: source.candidates })
  )
  const there = new Set<string>()
  let used = 0
  let rest = carried
  for (const serving of servings) {
    const room = Math.max(0, Math.min(allocation[serving.source.section] + rest, limit - used))
    rest += allocation[serving.source.section]
    serve(serving, room, there)
    used += serving.tokens
    rest -= serving.tokens
  }
  for (const serving of servings) {
    const before = serving.tokens
    serve(serving, Math.max(0, limit - used), there)
    used += serving.tokens - before
  }
  return servings.map(({ left, source, taken, tokenBudget, tokens }) => ({
    section: source.section,
    tokenBudget,
    tokens,
    taken,
    left
  }))
}
