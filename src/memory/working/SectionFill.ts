/**
 * Selects the candidates of a context: fills one section after another within the budget.
 *
 * @private
 * @since 0.1.0
 */
import type * as TokenBudgetAllocator from "./TokenBudgetAllocator.js"

/**
 * An item that is taken entirely or not at all.
 *
 * @category models
 */
export interface Candidate<out A> {
  readonly ids: ReadonlyArray<string>
  /** An item is skipped if one of its keys was taken before. */
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
   * Stops at the first candidate that no longer fits, so that there is no gap. A candidate that could never fit is
   * skipped.
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
  tokenBudget: number
  tokens: number
  readonly taken: Array<Candidate<A>>
  left: ReadonlyArray<Candidate<A>>
}

/** An invalid count is infinite, so that the candidate never fits. */
const costOf = (candidate: Candidate<unknown>): number => {
  const cost = candidate.cost()
  return cost >= 0 ? cost : Number.POSITIVE_INFINITY
}

/** A candidate that needs more than `most` never fits, and is no gap. */
const serve = <A>(serving: Serving<A>, room: number, most: number, there: Set<string>): void => {
  const left: Array<Candidate<A>> = []
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
      if (serving.source.contiguous && cost <= most) full = true
    }
  }
  serving.tokenBudget = serving.tokens + rest
  serving.left = left
}

/**
 * Each source gets the tokens of its section and those that the sources before it left over. Tokens left at the end are
 * offered once more. `carried` is left over before the first section, and may be negative. A section without a share
 * gets nothing.
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
    (source): Serving<A> => ({ source, tokenBudget: 0, tokens: 0, taken: [], left: source.candidates })
  )
  const there = new Set<string>()
  let used = 0
  let rest = carried
  for (const serving of servings) {
    const room = Math.max(0, Math.min(allocation[serving.source.section] + rest, limit - used))
    rest += allocation[serving.source.section]
    serve(serving, room, limit, there)
    used += serving.tokens
    rest -= serving.tokens
  }
  // A conversation without any turn so far comes first, and more of it comes after what is chosen by the query.
  const turnOf = ({ source, taken }: Serving<A>): number => (!source.contiguous ? 1 : taken.length === 0 ? 0 : 2)
  for (const serving of servings.toSorted((a, b) => turnOf(a) - turnOf(b))) {
    const before = serving.tokens
    const room = Math.max(0, limit - used)
    serve(serving, room, room, there)
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
