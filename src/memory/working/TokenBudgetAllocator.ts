/**
 * Divides a token budget among the sections of working memory.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { MemorySystemError } from "../entry/MemoryError.js"

/**
 * The sections, in the order in which they are filled.
 *
 * @since 0.1.0
 * @category constants
 */
export const sections = ["system_prompt", "recent_turns", "episodic", "semantic", "tool_descriptions"] as const

/**
 * @since 0.1.0
 * @category models
 */
export type Section = (typeof sections)[number]

/**
 * Tokens by section.
 *
 * @since 0.1.0
 * @category models
 */
export type Allocation = { readonly [S in Section]: number }

/**
 * A fixed number of tokens for the system prompt, and fractions of the rest for the other sections, each 0 to 1 and at
 * most 1 in total.
 *
 * @since 0.1.0
 * @category models
 */
export interface Shares {
  readonly systemPromptTokens: number
  readonly recentTurnsFraction: number
  readonly episodicFraction: number
  readonly semanticFraction: number
  readonly toolDescriptionsFraction: number
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults: Shares = {
  systemPromptTokens: 512,
  recentTurnsFraction: 0.4,
  episodicFraction: 0.3,
  semanticFraction: 0.2,
  toolDescriptionsFraction: 0.1
}

const fractions = [
  ["recent_turns", "recentTurnsFraction"],
  ["episodic", "episodicFraction"],
  ["semantic", "semanticFraction"],
  ["tool_descriptions", "toolDescriptionsFraction"]
] as const

/** Fractions such as 0.4 + 0.3 + 0.2 + 0.1 are not exactly 1 in floating point. */
const tolerance = 1e-9

/**
 * Completes the shares with defaults. Fails with a `MemorySystemError` if a fraction is not within 0 to 1, if their sum
 * exceeds 1, or if the tokens of the system prompt are not a valid number.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { TokenBudgetAllocator } from "effect-lexigram/memory"
 * import * as Either from "effect/Either"
 *
 * const shares = TokenBudgetAllocator.make({
 *   systemPromptTokens: 200,
 *   recentTurnsFraction: 0.5,
 *   semanticFraction: 0.1
 * })
 *
 * const tokens = Either.map(shares, (shares) => TokenBudgetAllocator.allocate(4_200, shares))
 * // right: 200 for the system prompt, 2,000 for recent turns, 1,200 episodic, 400 semantic, 400 for tools
 * ```
 */
export const make = (
  options?: { readonly [K in keyof Shares]?: Shares[K] | undefined } | undefined
): Either.Either<Shares, MemorySystemError> => {
  const shares: Shares = {
    systemPromptTokens: options?.systemPromptTokens ?? defaults.systemPromptTokens,
    recentTurnsFraction: options?.recentTurnsFraction ?? defaults.recentTurnsFraction,
    episodicFraction: options?.episodicFraction ?? defaults.episodicFraction,
    semanticFraction: options?.semanticFraction ?? defaults.semanticFraction,
    toolDescriptionsFraction: options?.toolDescriptionsFraction ?? defaults.toolDescriptionsFraction
  }
  const refuse = (message: string, hint: string) => Either.left(new MemorySystemError({ message, hint }))
  if (!Number.isSafeInteger(shares.systemPromptTokens) || shares.systemPromptTokens < 0) {
    return refuse("systemPromptTokens is not a number of tokens", "Give a whole number of at least 0")
  }
  let sum = 0
  for (const [, name] of fractions) {
    const fraction = shares[name]
    if (!(fraction >= 0 && fraction <= 1))
      return refuse(`${name} is not between 0 and 1`, "Give a fraction, such as 0.25")
    sum += fraction
  }
  return sum > 1 + tolerance
    ? refuse(`The fractions of the sections exceed 1 in total`, "Lower one of them; the rest is kept in reserve")
    : Either.right(shares)
}

const whole = (tokens: number): number =>
  Number.isNaN(tokens) ? 0 : Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.floor(tokens)))

const part = (fraction: number): number => (fraction > 0 ? Math.min(1, fraction) : 0)

/**
 * Gives `system_prompt` its fixed number, or all if there is less, and every other section its fraction of the rest,
 * rounded down. Tokens left by rounding or claimed by no fraction go to the section with the largest fraction, the
 * first of equal ones, or to the system prompt if all fractions are 0. The result sums to `total` exactly and is never
 * negative, for any total and shares: an invalid total is 0, and fractions of a token are dropped.
 *
 * @since 0.1.0
 * @category combinators
 */
export const allocate = (total: number, shares: Shares = defaults): Allocation => {
  const all = whole(total)
  const allocation = {
    system_prompt: Math.min(whole(shares.systemPromptTokens), all),
    recent_turns: 0,
    episodic: 0,
    semantic: 0,
    tool_descriptions: 0
  }
  const remaining = all - allocation.system_prompt
  let left = remaining
  let largest: Section = "system_prompt"
  let most = 0
  for (const [section, name] of fractions) {
    const fraction = part(shares[name])
    if (fraction > most) {
      most = fraction
      largest = section
    }
    // Never more than is left: products of large numbers are inexact.
    const tokens = Math.min(left, Math.floor(remaining * fraction))
    allocation[section] = tokens
    left -= tokens
  }
  allocation[largest] += left
  return allocation
}

/**
 * The tokens that `allocate` gives to one section.
 *
 * @since 0.1.0
 * @category combinators
 */
export const budgetFor = (section: Section, total: number, shares?: Shares | undefined): number =>
  allocate(total, shares)[section]
